"""What several rules say alike: status, words, places, boxes, last violations."""
