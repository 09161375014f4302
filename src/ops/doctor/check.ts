/** Result of a check: `fail` must be fixed, `warn` is worth a look, `off` isn't set up and isn't required. */
export interface CheckResult {
  status: 'ok' | 'off' | 'warn' | 'fail'
  message: string
  advice?: string
}

export const ok = (message: string): CheckResult => ({ status: 'ok', message })
export const off = (message: string, advice: string): CheckResult => ({ status: 'off', message, advice })
export const warn = (message: string, advice: string): CheckResult => ({ status: 'warn', message, advice })
export const fail = (message: string, advice: string): CheckResult => ({ status: 'fail', message, advice })

export const wordsOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0])
  const cause = error instanceof Error && error.cause !== undefined ? `: ${wordsOf(error.cause)}` : ''
  return error instanceof Error ? (error.message || error.name) + cause : String(error)
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** `3 hours`, the largest unit that fits. */
export function ageWords(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 120) return plural(minutes, 'minute')
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? plural(hours, 'hour') : plural(Math.floor(hours / 24), 'day')
}
