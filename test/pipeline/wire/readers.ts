/** The readers of ordinary calls of the gateway: our own reader in front of Node's server, or that server alone. */
export const READERS: readonly { read: string; environment: { UK_FAST_HTTP: 'on' | 'off' } }[] = [
  { read: 'read by us', environment: { UK_FAST_HTTP: 'on' } },
  { read: 'read by Node', environment: { UK_FAST_HTTP: 'off' } },
]
