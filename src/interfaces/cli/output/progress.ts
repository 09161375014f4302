import { styleText } from 'node:util'
import { clean, fit, pad } from '../terminal.ts'
import { bytesSaid as said } from './amounts.ts'

/** One-line progress of server-side work; disposing clears it. */
export function workOn(
  stream: NodeJS.WriteStream,
): { update(status: string, progress: number | null): void } & Disposable {
  const startedAt = performance.now()
  let first: { at: number; progress: number } | null = null
  return {
    update(status, progress) {
      const now = performance.now()
      if (progress !== null && progress > 0) first ??= { at: now, progress }
      // Speed is measured since the first reading: earlier progress says nothing about it.
      const gained = first === null ? 0 : (progress ?? 0) - first.progress
      const secondsLeft = gained > 0 ? ((1 - progress!) * (now - first!.at)) / gained / 1_000 : null
      const facts = [
        status,
        progress === null ? '' : `${Math.floor(progress * 100)} %`,
        clock((now - startedAt) / 1_000),
        secondsLeft !== null && secondsLeft < 360_000 ? `${clock(secondsLeft)} left` : '',
      ]
      stream.write(`\r\x1b[K${styleText('dim', facts.filter(Boolean).join('  '), { stream })}`)
    },
    [Symbol.dispose]() {
      stream.write('\r\x1b[K')
    },
  }
}

/** One-line progress of a transfer, redrawn in place on a terminal. */
export interface Progress extends Disposable {
  /** Starts a file with `from` bytes already transferred; a null size is unknown. */
  begins(name: string, size: number | null, from: number): { at(offset: number): void; ended(): void }
}

const DRAW_MS = 200

export function progressOn(stream: NodeJS.WriteStream): Progress {
  if (!stream.isTTY) return { begins: () => ({ at() {}, ended() {} }), [Symbol.dispose]() {} }
  const startedAt = performance.now()
  const open = new Map<object, { name: string; size: number | null; at: number }>()
  let files = 0
  let moved = 0
  const draw = (): void => {
    const { value: file } = open.values().next()
    if (file === undefined) return
    const line = lineOf(
      { ...file, files, others: open.size - 1, moved, ms: performance.now() - startedAt },
      stream.columns,
    )
    stream.write(`\r\x1b[K${styleText('dim', line, { stream })}`)
  }
  const timer = setInterval(draw, DRAW_MS)
  return {
    begins(name, size, from) {
      const file = { name, size, at: from }
      open.set(file, file)
      return {
        at(offset) {
          // Bytes sent again count toward the speed but not the file's progress.
          moved += Math.max(0, offset - file.at)
          file.at = offset
        },
        ended() {
          open.delete(file)
          files++
        },
      }
    },
    [Symbol.dispose]() {
      clearInterval(timer)
      stream.write('\r\x1b[K')
    },
  }
}

interface State {
  name: string
  size: number | null
  at: number
  /** Number of finished files. */
  files: number
  /** Number of other files in transfer. */
  others: number
  /** Bytes transferred by this command. */
  moved: number
  ms: number
}

/** Renders the progress line, up to `columns` wide: `data.bin  45 %  1.2 MB of 2.7 MB  3.1 MB/s  0:05 left`. */
export function lineOf({ name, size, at, files, others, moved, ms }: State, columns: number): string {
  const speed = ms < 500 ? 0 : (moved * 1_000) / ms
  const secondsLeft = size !== null && speed > 0 ? (size - at) / speed : null
  const facts = [
    size === null ? said(at) : `${size === 0 ? 100 : Math.floor((at / size) * 100)} %  ${said(at)} of ${said(size)}`,
    speed > 0 ? `${said(speed)}/s` : '',
    secondsLeft !== null && secondsLeft < 360_000 ? `${clock(secondsLeft)} left` : '',
    files + others > 0 ? `${files} done` : '',
  ]
  const rest = facts.filter(Boolean).join('  ')
  const room = Math.max(8, columns - rest.length - 3)
  return fit(`${pad(fit(clean(name).replaceAll('\n', ' '), room), Math.min(room, 20))}  ${rest}`, columns - 1)
}

const clock = (seconds: number): string => {
  const whole = Math.ceil(seconds)
  const minutes = Math.floor(whole / 60) % 60
  const tail = String(whole % 60).padStart(2, '0')
  return whole < 3_600
    ? `${minutes}:${tail}`
    : `${Math.floor(whole / 3_600)}:${String(minutes).padStart(2, '0')}:${tail}`
}
