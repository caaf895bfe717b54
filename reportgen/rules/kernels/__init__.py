"""What the rules over kernel traces share: names, windows, idle causes, words."""
