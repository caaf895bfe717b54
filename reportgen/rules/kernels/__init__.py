"""What the rules over kernel traces share: names, unions of intervals, idle causes, words."""
