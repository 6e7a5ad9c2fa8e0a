import asked


def reserve(order, context):
    asked.fail(order, context)
    return {**order, "reservationId": f"res-{order.get('orderId')}"}


def release(order, context):
    asked.fail(order, context)
    return {**order, "released": order.get("reservationId")}
