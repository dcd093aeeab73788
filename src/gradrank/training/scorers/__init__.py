"""The scorers as torch trains them, a file each: found by its name, with a function of that name that makes one."""
