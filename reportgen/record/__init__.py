"""Record any training job: the recorder's side, and the folder injected into the program."""
