def x(:
