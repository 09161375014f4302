const statuses = ['waiting', 'succeeded', 'failed', 'cancelled'] as const

/** The status filter of a webhook's deliveries; omitted: all. */
export interface DeliveryView {
  status?: (typeof statuses)[number]
}

export function deliveriesIn({ status }: Record<string, unknown>): DeliveryView {
  const shown = statuses.find((one) => one === status)
  return shown ? { status: shown } : {}
}
