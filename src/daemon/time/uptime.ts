/**
 * Milliseconds of the monotonic clock, which pauses during sleep and ignores wall clock changes. The same for all
 * processes until a reboot.
 */
export const uptimeMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)
