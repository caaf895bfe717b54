"""What a node's network and disks did before its first step."""
