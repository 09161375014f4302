import type { Progress } from '#infra/backup/progress.ts'

export const say = (words: string): void => void process.stderr.write(`${words}\n`)

const units = ['B', 'KB', 'MB', 'GB', 'TB']

/** `1.5 GB`, in decimal units. */
export function sizeWords(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

const EVERY_MS = 200

/** Progress line for a terminal. An abort signal stops the work at the next byte. */
export function followed(signal: AbortSignal): Progress & Disposable {
  const { stderr } = process
  let doing = ''
  let total: number | null = null
  let done = 0
  let since = performance.now()
  let shownAt = 0
  const show = (last: boolean): void => {
    if (!stderr.isTTY || doing === '' || (!last && performance.now() - shownAt < EVERY_MS)) return
    shownAt = performance.now()
    const seconds = (shownAt - since) / 1000
    const rate = seconds > 0 ? done / seconds : 0
    const part = total ? ` ${Math.min(100, Math.floor((100 * done) / total))} %` : ''
    stderr.write(`\r\x1b[K${doing}${part}  ${sizeWords(done)}  ${sizeWords(rate)}/s${last ? '\n' : ''}`)
  }
  return {
    begin(next, bytes) {
      show(true)
      ;[doing, total, done, since] = [next, bytes, 0, performance.now()]
    },
    add(bytes) {
      signal.throwIfAborted()
      done += bytes
      show(false)
    },
    [Symbol.dispose]() {
      show(true)
      doing = ''
    },
  }
}
