import { ago, moment } from './format.ts'

/** A relative time, with the exact time as its tooltip. */
export function Ago({ time }: { time: string }) {
  return (
    <time dateTime={time} title={moment(time)}>
      {ago(time)}
    </time>
  )
}
