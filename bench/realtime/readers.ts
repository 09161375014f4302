/**
 * A process that subscribes many times and notes when each event came: `readers.ts <port> <headers> <count> <channels>`.
 * It says `ready` when all have `subscribed`; at each line of its input it writes one line of what came since, as JSON.
 */
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

const [port, headers, count, channels] = process.argv.slice(2) as [string, string, string, string]
const names = channels.split(',')
let ready = 0
let latencies: number[] = []
let misordered = 0

/** Microseconds of a clock that all processes of the machine share. */
const now = (): number => Number(process.hrtime.bigint() / 1_000n)

function subscribe(channel: string): void {
  let rest = ''
  let offset = 0
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`GET /v1/realtime/subscribe?channels=${channel} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n\r\n`)
  socket.on('data', (part) => {
    const at = now()
    const words = rest + part.toString('latin1')
    const end = words.lastIndexOf('\n\n')
    rest = end < 0 ? words : words.slice(end + 2)
    if (end < 0) return
    for (const frame of words.slice(0, end).split('\n\n')) {
      if (frame.includes('event: subscribed')) ready += 1
      const sent = /"sent": ?(\d+)/.exec(frame)
      if (!sent) continue
      latencies.push(at - Number(sent[1]))
      const place = /"offset":(\d+)/.exec(frame)
      if (!place) continue
      const next = Number(place[1])
      if (offset !== 0 && next !== offset + 1) misordered += 1
      offset = next
    }
  })
  socket.on('close', () => {
    process.stderr.write('a subscriber was cut off\n')
    process.exit(1)
  })
}

// A little at a time: a thousand connections at once would measure the listen queue.
const total = Number(count)
let begun = 0
const timer = setInterval(() => {
  for (let i = 0; i < 50 && begun < total; i++) subscribe(names[begun++ % names.length]!)
  if (ready < total) return
  clearInterval(timer)
  process.stdout.write('ready\n')
}, 20)

createInterface(process.stdin).on('line', () => {
  const sorted = Float64Array.from(latencies).sort()
  const at = (part: number): number =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN) / 1000
  process.stdout.write(
    `${JSON.stringify({ came: sorted.length, misordered, p50Ms: at(0.5), p99Ms: at(0.99), mostMs: at(1) })}\n`,
  )
  latencies = []
  misordered = 0
})
