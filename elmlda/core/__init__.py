"""The mathematics: numpy and scipy only, no files, no printing."""
