import { ago, moment } from './format.ts'

export function Ago({ time }: { time: string }) {
  return (
    <time dateTime={time} title={moment(time)}>
      {ago(time)}
    </time>
  )
}
