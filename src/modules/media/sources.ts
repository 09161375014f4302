import { readableFile, decoded } from '#modules/drive/service.ts'
import { readBlob } from '#infra/blobs/keep.ts'
import type { StagedBlob } from '#infra/blobs/blobs.ts'
import type { Context } from '#infra/context.ts'
import { checkGivenUrl } from '#infra/outbound/given-url.ts'
import { UnreadableMedia } from '#packages/media-tools/probe/unreadable.ts'
import type { MediaFacts } from '#packages/media-tools/facts.ts'
import type { MediaInput } from '#gateway/media/adapter.ts'
import { fetchBytes } from './fetch-bytes.ts'
import { refuse } from '#core/errors.ts'
import { storable } from '#core/text/storable.ts'
import type { Engine } from '#infra/context.ts'
import type { Inputs, NamedSource, StoredInput } from './ask.ts'
import { shorten } from '#core/text/shorten.ts'

/** Per input file (contract, part 16). */
const MAX_BYTES = { image: 64 << 20, audio: 512 << 20 } as const

const MAX_PICTURES = 16

/** `staged` null: already in the blob store. */
export interface ReadSource extends StoredInput {
  staged: StagedBlob | null
}

/** Reads each input once, inspects its content and stages it. On an error, nothing is kept. */
export async function readSources(ctx: Context, sources: readonly NamedSource[]): Promise<ReadSource[]> {
  const inputs: ReadSource[] = []
  try {
    // The upload is a live stream, so it's read before anything slow.
    for (let upload = ctx.upload; upload !== null; upload = (await upload.next?.()) ?? null)
      inputs.push(await stageInput(ctx, upload.bytes, partOf(upload.part, inputs, sources), upload.name))
    for (const source of sources) inputs.push(await readSource(ctx, source))
    return inputs
  } catch (error) {
    for (const { staged } of inputs) await staged?.discard()
    throw error
  }
}

type SourceField = Omit<NamedSource, 'source'>

/** Refuses too many parts. */
function partOf(part: string | null, inputs: readonly ReadSource[], sources: readonly NamedSource[]): SourceField {
  const field = part === 'images' || part === 'mask' ? part : 'sound'
  const place = inputs.filter((one) => one.field === field).length
  if (field === 'sound' && sources.some((one) => one.field === 'sound'))
    refuse('invalid_parameter', { param: 'audio', message: 'Send `audio` or the part `file`, not both.' })
  if (field === 'sound') return { field, param: 'file', place, kind: 'audio' }
  if (place >= (field === 'mask' ? 1 : MAX_PICTURES))
    refuse('invalid_parameter', {
      param: field,
      message: field === 'mask' ? 'You can send up to one `mask`.' : `You can send up to ${MAX_PICTURES} images.`,
    })
  return { field, param: field === 'mask' ? field : `${field}.${place}`, place, kind: 'image' }
}

async function readSource(ctx: Context, { source, ...named }: NamedSource): Promise<ReadSource> {
  switch (source.kind) {
    case 'file': {
      const { name, size, read } = await readableFile(ctx, source.file_id, `${named.param}.file_id`)
      if (size > MAX_BYTES[named.kind]) tooLarge(named)
      return stageInput(ctx, read(0), named, name)
    }
    case 'url': {
      checkGivenUrl(ctx.engine.config, source.url, `${named.param}.url`)
      return stageInput(ctx, fetchBytes(ctx, new URL(source.url), named, MAX_BYTES[named.kind]), named, null)
    }
    case 'base64':
      return stageInput(ctx, [decoded(source.data, 'base64', `${named.param}.data`)], named, null)
  }
}

/** Trusts only the content, not names or declared types. */
async function stageInput(
  ctx: Context,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { field, param, place, kind }: SourceField,
  name: string | null,
): Promise<ReadSource> {
  const { media, blobs } = ctx.engine
  await using file = await media.stage(each(bytes), { mostBytes: MAX_BYTES[kind], signal: ctx.signal })
  const account = ctx.principal.accountId
  let facts: MediaFacts
  let blob: StagedBlob
  try {
    if (kind === 'image') {
      const bare = await media.probe.bare(account, file.path, ctx.signal)
      facts = bare.facts
      blob = await blobs.stage(each([bare.bytes]), { signal: ctx.signal })
    } else {
      facts = await media.probe.facts(account, file.path, ctx.signal)
      if (facts.kind === 'image') throw new UnreadableMedia('other_kind', `It’s an image (${facts.type}), not audio.`)
      blob = await blobs.stage(file.read(), { signal: ctx.signal })
    }
  } catch (error) {
    throw error instanceof UnreadableMedia ? unreadable(error, param) : error
  }
  const stem = shorten(storable(name ?? field).replace(/\.[^.]{1,8}$/, ''), 100)
  return { field, place, sha256: blob.sha256, name: `${stem || field}.${facts.extension}`, facts, staged: blob }
}

function unreadable({ reason, message }: UnreadableMedia, param: string): never {
  if (reason === 'busy' || reason === 'missing') refuse('unavailable', { message, headers: { 'retry-after': '2' } })
  return refuse('invalid_parameter', { param, message })
}

const tooLarge = ({ param, kind }: SourceField): never =>
  refuse('payload_too_large', {
    param,
    message: `${kind === 'image' ? 'An image' : 'A recording'} can have up to ${MAX_BYTES[kind] >> 20} MiB.`,
    details: { limit_bytes: MAX_BYTES[kind] },
  })

export function inputsOf(engine: Pick<Engine, 'blobs' | 'postgres'>, storedInputs: readonly StoredInput[]): Inputs {
  const inputs = new Map<NamedSource['field'], MediaInput[]>()
  for (const { field, sha256, name, facts } of storedInputs) {
    const input: MediaInput = { ...facts, name, read: () => readBlob(engine, sha256) }
    const fieldInputs = inputs.get(field as NamedSource['field']) ?? []
    inputs.set(field as NamedSource['field'], [...fieldInputs, input])
  }
  return inputs
}

async function* each(parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* parts
}
