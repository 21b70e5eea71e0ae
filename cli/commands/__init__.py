"""The commands, by theme. The table `SECTIONS` of `cli.command_line` names each of them."""
