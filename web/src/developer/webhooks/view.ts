const statuses = ['waiting', 'succeeded', 'failed', 'cancelled'] as const

/** The deliveries that a webhook's page shows; left out: all. */
export interface DeliveryView {
  status?: (typeof statuses)[number]
}

/** The address as a view, whatever it holds. */
export function deliveriesIn({ status }: Record<string, unknown>): DeliveryView {
  const shown = statuses.find((one) => one === status)
  return shown ? { status: shown } : {}
}
