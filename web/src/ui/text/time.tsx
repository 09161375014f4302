import { ago, moment } from './format.ts'

/** How long ago, or in how long; the exact moment on hovering. */
export function Ago({ time }: { time: string }) {
  return (
    <time dateTime={time} title={moment(time)}>
      {ago(time)}
    </time>
  )
}
