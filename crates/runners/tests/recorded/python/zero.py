def start():
    return 1 / 0


start()
