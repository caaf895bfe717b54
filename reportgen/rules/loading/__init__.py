"""What the data loaders did and how long training waited: the ground of Dataloader."""
