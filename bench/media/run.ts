/**
 * Speech that is streamed: from the request to the first sound, for a text that takes minutes to be heard, beside the same
 * text asked for whole. The first round warms threads and code and is left out.
 */
import { startOurs } from '../measure/ours.ts'
import { median } from '../measure/process.ts'
import type { Report } from '../report.ts'
import { soundInMemory, videosOverAKill } from './jobs.ts'

const ROUNDS = 12
/** In so many of them a sound is read to its end. */
const WHOLE = 3
const SENTENCE = 'It was a dark and stormy night, and the rain fell in torrents upon the roofs of the town. '
const TEXT = SENTENCE.repeat(30)
const VOICES = ['slt', 'rms', 'awb', 'kal16'] as const
const FORMATS = ['pcm', 'mp3', 'opus'] as const

export async function media(): Promise<Report> {
  const rows = await spoken()
  rows.push(await soundInMemory(), await videosOverAKill())
  return { name: 'media', rows, table: table(rows) }
}

async function spoken(): Promise<Record<string, unknown>[]> {
  await using ours = await startOurs()
  const ask = (path: string, body: object): Promise<Response> =>
    fetch(`${ours.origin}/v1/inference/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ours.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/flite', input: TEXT, ...body }),
    })
  const rows: Record<string, unknown>[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    for (const voice of VOICES)
      for (const format of FORMATS) {
        const row = await streamed(ask, voice, format, round <= WHOLE)
        if (round > 0) rows.push({ what: 'stream', voice, format, round, ...row })
      }
    if (round > WHOLE) continue
    const started = performance.now()
    const whole = await ask('speech', { voice: 'slt', format: 'mp3' })
    if (!whole.ok) throw new Error(`answered ${whole.status}: ${await whole.text()}`)
    await whole.arrayBuffer()
    if (round > 0) rows.push({ what: 'whole', voice: 'slt', format: 'mp3', round, ms: performance.now() - started })
  }
  return rows
}

/** To the first delta; `whole`: and to the end of a sound of which every delta is read. Else it is left, as a listener does. */
async function streamed(
  ask: (path: string, body: object) => Promise<Response>,
  voice: string,
  format: string,
  whole: boolean,
): Promise<{ first: number; ms?: number; seconds?: number }> {
  const started = performance.now()
  const response = await ask('speech/stream', { voice, format })
  if (!response.ok) throw new Error(`answered ${response.status}: ${await response.text()}`)
  let first = 0
  let text = ''
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    // Only the end is read: a delta has no line break within.
    text = (text + part).slice(-4_096)
    if (first === 0 && text.includes('event: audio.delta')) first = performance.now() - started
    if (first > 0 && !whole) return { first }
  }
  const seconds = Number(/"duration_seconds":([\d.]+)/.exec(text)?.[1])
  if (!(seconds > 60)) throw new Error(`the sound ended: ${text.slice(-500)}`)
  return { first, ms: performance.now() - started, seconds }
}

export function table(raw: Record<string, unknown>[]): string {
  type Row = { what: string; voice: string; format: string; first: number; ms?: number; seconds?: number }
  const rows = raw as unknown as Row[]
  const of = (voice: string, format: string): Row[] =>
    rows.filter((row) => row.what === 'stream' && row.voice === voice && row.format === format)
  const worst = (values: readonly number[]): number => Math.max(...values)
  const own = of('slt', 'pcm').map(({ first }) => first)
  const whole = rows.filter(({ what }) => what === 'whole').map(({ ms }) => ms!)
  return [
    '| voice | format | first sound, median ms | slowest | times as fast as it is heard |',
    '|---|---|--:|--:|--:|',
    ...VOICES.flatMap((voice) =>
      FORMATS.map((format) => {
        const found = of(voice, format)
        const firsts = found.map(({ first }) => first)
        const speed = median(
          found.flatMap(({ seconds, ms }) => (seconds === undefined ? [] : [seconds / (ms! / 1_000)])),
        )
        return `| ${voice} | ${format} | ${median(firsts).toFixed(0)} | ${worst(firsts).toFixed(0)} | ${speed.toFixed(0)} |`
      }),
    ),
    '',
    '| | is | goal |',
    '|---|--:|--:|',
    `| first sound of a long text in the server’s own voice, median | ${median(own).toFixed(0)} ms | ≤ 100 ms |`,
    `| the same text asked for whole, as MP3 | ${median(whole).toFixed(0)} ms | – |`,
    ...beyond(raw),
  ].join('\n')
}

/** What is not spoken. */
function beyond(rows: Record<string, unknown>[]): string[] {
  const of = (what: string) => rows.find((row) => row['what'] === what) as Record<string, number> | undefined
  const heard = of('heard')
  const jobs = of('jobs')
  return [
    ...(heard === undefined
      ? []
      : [
          `| memory that ${heard['megabytes']} MB of sound take on their way to be written down, at most | ${heard['more']!.toFixed(0)} MB | ≤ 200 MB |`,
        ]),
    ...(jobs === undefined
      ? []
      : [
          `| of ${jobs['count']} videos at once, over the death of the server: made | ${jobs['succeeded']} | all but those on their way to the vendor |`,
          `| – not known, since the server died while they were sent | ${jobs['unknown']} | – |`,
          `| – submitted twice | ${jobs['twice']} | 0 |`,
          `| – seconds from the start of the next server to the last | ${jobs['seconds']!.toFixed(0)} s | – |`,
        ]),
  ]
}
