/** Videos at a vendor while the server that submitted them is killed, and a large recording on its way to one. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { openaiMedia } from '../../test/vendors/media/openai/openai.ts'
import { type Ours, startOn, startOurs } from '../measure/ours.ts'

const VIDEOS = 200
const SOUND_MB = 100

type Ask = (path: string, body: object | FormData) => Promise<any>
type Vendor = Awaited<ReturnType<typeof openaiMedia>>

/** Who asks there with this key. Throws what is refused. */
const asking =
  (origin: string, key: string): Ask =>
  async (path, body) => {
    const isForm = body instanceof FormData
    const response = await fetch(`${origin}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
      body: isForm ? body : JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }

const bring = (ask: Ask, vendor: Vendor): Promise<unknown> =>
  ask('/ai-gateway/provider-endpoints', {
    name: 'studio',
    slug: 'studio',
    shape: 'openai-chat',
    base_url: `${vendor.origin}/v1`,
    api_key: vendor.key,
    models: [
      { id: 'sora-2', kind: 'video', pricing: { video_second: 100_000 } },
      { id: 'whisper-1', kind: 'transcription', pricing: { audio_second: 100 } },
    ],
  })

const reached = { UK_UPSTREAM_ALLOW: '127.0.0.0/8' }

/** Seconds from the start of the next server until the last has ended, and what became of them. */
export async function videosOverAKill(count = VIDEOS): Promise<Record<string, unknown>> {
  await using vendor = await openaiMedia()
  await using ours = await startOurs(reached)
  const ask = asking(ours.origin, ours.key)
  await bring(ask, vendor)
  const begun = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      ask('/inference/videos', { model: 'studio/sora-2', prompt: `Video ${i}`, seconds: 4, size: '720x1280' }),
    ),
  )
  while (vendor.jobs.length < count / 2) await new Promise((resolve) => setTimeout(resolve, 20))
  const before = vendor.jobs.length
  ours.server.child.kill('SIGKILL')
  await once(ours.server.child, 'exit')
  const started = performance.now()
  await using next = await startOn(ours.dataDir, reached)
  const ends = await Promise.all(begun.map(({ data }) => endOf(`http://127.0.0.1:${next.port}`, ours, data.id)))
  const became = (wanted: string): number => ends.filter((end) => end === wanted).length
  const twice = vendor.submits().filter(({ path, at }) => path === '/v1/videos' && at.length > 1).length
  return {
    what: 'jobs',
    count,
    before,
    seconds: (performance.now() - started) / 1_000,
    succeeded: became('succeeded'),
    unknown: became('outcome_unknown'),
    twice,
  }
}

async function endOf(origin: string, { key }: Ours, id: string): Promise<string> {
  for (let since = 'queued'; ;) {
    const response = await fetch(`${origin}/v1/operations/${id}/await?since_status=${since}&timeout_seconds=60`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const { data } = (await response.json()) as { data: { status: string; error: { code: string } | null } }
    since = data.status
    if (since !== 'queued' && since !== 'running') return data.error?.code ?? since
  }
}

/** Megabytes that the server's peak grows by, for a recording of so many, behind a small one that warms it. */
export async function soundInMemory(megabytes = SOUND_MB): Promise<Record<string, unknown>> {
  await using vendor = await openaiMedia()
  await using ours = await startOurs(reached)
  const ask = asking(ours.origin, ours.key)
  await bring(ask, vendor)
  const send = (size: number): Promise<unknown> => {
    const form = new FormData()
    form.append('model', 'studio/whisper-1')
    form.append('file', new Blob([Uint8Array.from(recording(size))]), 'sound.wav')
    // The vendor takes less than this: what counts is that it got there.
    return ask('/inference/transcriptions', form).catch(() => {})
  }
  await send(1 << 20)
  const before = peakOf(ours.server.pid)
  const started = performance.now()
  await send(megabytes << 20)
  const heard = Math.max(...vendor.requests.map(({ body }) => body.length))
  if (heard < megabytes << 20) throw new Error(`the vendor got ${heard} bytes`)
  return { what: 'heard', megabytes, before, more: peakOf(ours.server.pid) - before, ms: performance.now() - started }
}

/** The most memory that a process has had, in MB. */
const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024

/** Samples of 16 kHz, one channel, in a WAV file of so many bytes (RIFF). */
function recording(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.write('RIFF', 0, 'latin1')
  bytes.writeUInt32LE(size - 8, 4)
  bytes.write('WAVEfmt ', 8, 'latin1')
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(16_000, 24)
  bytes.writeUInt32LE(32_000, 28)
  bytes.writeUInt16LE(2, 32)
  bytes.writeUInt16LE(16, 34)
  bytes.write('data', 36, 'latin1')
  bytes.writeUInt32LE(size - 44, 40)
  for (let at = 44; at + 1 < size; at += 2) bytes.writeInt16LE(((at * 37) % 2_000) - 1_000, at)
  return bytes
}
