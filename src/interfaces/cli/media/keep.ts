import type { Incoming } from '../../client.ts'
import { Stop } from '../exit.ts'
import type { Globals } from '../globals.ts'
import { fileSink } from '../sink.ts'
import { type Terminal, clean, shown } from '../terminal.ts'
import { type Made, type MadeFile, nameOf } from './made.ts'

/** Fetches a URL without credentials. */
export type Open = (url: string) => Promise<Incoming>

const SHOWN_BYTES = 16 << 20

/**
 * Prints a transcript or the paths of generated files, saves them with `-o`, and shows images in terminals that support
 * it.
 */
export async function keep(media: Made, globals: Globals, terminal: Terminal, open: Open): Promise<void> {
  const { output, json } = globals
  if (!json) terminal.err(terminal.style('dim', clean(about(media))))
  if (media.kind === 'transcription') return keepText(media.subtitles ?? `${media.text ?? ''}\n`, globals, terminal)
  if (output === '-' && (json || media.files.length > 1))
    throw new Stop('usage', "Can't write several files, or a file and JSON, to stdout.", 'Pass a file name to -o.')
  for (const [i, file] of media.files.entries()) {
    if (output === '-') for await (const part of await bytesOf(file, open)) await terminal.out(part)
    else {
      if (!json) await terminal.out(`${shown(file.path, terminal)}\n`)
      const shows = !json && terminal.interactive && media.kind === 'image' && file.size_bytes <= SHOWN_BYTES
      const to = output === undefined ? undefined : nameOf(output, i)
      if (to === undefined && !shows) continue
      const bytes = await saved(await bytesOf(file, open), to, shows)
      if (to !== undefined) terminal.err(`Saved ${to} (${measures(file)})`)
      if (bytes) await (await import('./show.ts')).showPicture(bytes, file, terminal)
    }
  }
}

function about({ model, cost_usd, simulated, losses }: Made): string {
  return [
    model,
    cost_usd === null ? 'cost unknown' : `$${cost_usd}`,
    ...(simulated ? ['simulated'] : []),
    ...(losses.length > 0 ? [`ignored: ${losses.join(', ')}`] : []),
  ].join(' · ')
}

async function keepText(text: string, { output, json }: Globals, terminal: Terminal): Promise<void> {
  if (output === undefined || output === '-') {
    if (!json) await terminal.out(output === undefined ? shown(text, terminal) : text)
    return
  }
  await using sink = await fileSink(output)
  await sink.write(Buffer.from(text))
  terminal.err(`Saved ${output} (${sink.written()} bytes)`)
}

/** The URL is signed, so it needs no credentials. */
async function bytesOf({ url, name }: MadeFile, open: Open): Promise<AsyncIterable<Uint8Array>> {
  const response = await open(url)
  if (response.status === 200) return response.bytes()
  throw new Stop('failure', `Can't download ${name}: the server returned ${response.status}.`)
}

/** Saves the bytes to `to`, if set. Returns them if they will be shown. */
async function saved(bytes: AsyncIterable<Uint8Array>, to: string | undefined, shows: boolean): Promise<Buffer | null> {
  await using sink = to === undefined ? null : await fileSink(to)
  const parts: Uint8Array[] = []
  for await (const part of bytes) {
    await sink?.write(part)
    if (shows) parts.push(part)
  }
  return shows ? Buffer.concat(parts) : null
}

function measures({ size_bytes, width, height, duration_seconds }: MadeFile): string {
  const size = width === null || height === null ? [] : [`${width} × ${height}`]
  const length = duration_seconds === null ? [] : [`${Math.round(duration_seconds * 10) / 10} s`]
  return [...size, ...length, `${size_bytes} bytes`].join(', ')
}
