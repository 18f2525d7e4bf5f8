// Rooms are filled in the commits that follow.
