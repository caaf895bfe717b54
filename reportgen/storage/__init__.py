"""Where bytes live: local folders and object stores."""
