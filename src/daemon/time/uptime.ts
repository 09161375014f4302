/**
 * Milliseconds on the machine's own clock, which nobody sets and which stands still while the machine sleeps: what is measured
 * by it neither ends too early nor lasts too long when the time of day jumps. The same for all processes, until a restart.
 */
export const uptimeMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)
