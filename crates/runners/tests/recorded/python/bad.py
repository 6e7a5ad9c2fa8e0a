x = 1
def x(:
