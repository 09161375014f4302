/** Readers of ordinary gateway calls: the fast path, or Node's server alone. */
export const READERS: readonly { read: string; environment: { UK_FAST_HTTP: 'on' | 'off' } }[] = [
  { read: 'read by us', environment: { UK_FAST_HTTP: 'on' } },
  { read: 'read by Node', environment: { UK_FAST_HTTP: 'off' } },
]
