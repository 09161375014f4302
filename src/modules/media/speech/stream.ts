import type { z } from 'zod'
import { checkGeneratedTarget, keepGenerated } from '#modules/drive/service.ts'
import type { Context } from '#infra/context.ts'
import { MediaFault } from '#gateway/media/adapter.ts'
import { mediaRefusal } from '#gateway/media/fate.ts'
import { lossesHeader } from '#gateway/translation/losses-header.ts'
import { type Event, eventsOf } from '#core/answers.ts'
import type { Input } from '#core/contract.ts'
import { type ErrorBody, Refusal, errorBody } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { eventsSoon } from '#infra/late-events.ts'
import { toUsd } from '#core/money.ts'
import { iso } from '#core/time.ts'
import { type MediaAsk, parseSpeech } from '../ask.ts'
import type { MediaFile, mediaEndpoints } from '../contract.ts'
import type { HasMediaGateway } from '../handles.ts'
import { fileNames, describeFile } from '../jobs/answer.ts'
import { collect, discard } from '../jobs/collect.ts'
import { modelFor } from '../own-voice.ts'
import { type SpeechCopy, copyOf } from './speech-copy.ts'
import { type SpeechCall, startSpeech } from './speech-call.ts'

type Ctx = Context<HasMediaGateway>

/** Limits per event: 200 ms of raw samples, or bytes of an encoded file. */
const DELTA_SECONDS = 0.2
const DELTA_BYTES = 16 << 10

/** `POST /inference/speech/stream`. A disconnect aborts the provider's request. */
export async function streamSpeech(
  ctx: Ctx,
  { save, ...input }: Input<(typeof mediaEndpoints)['speech_stream']>,
): Promise<AsyncIterable<Event>> {
  const { ask } = parseSpeech({ ...input, background: false }, await modelFor(ctx, input))
  const target = { workspaceId: ctx.workspace!.id, folderId: ask.folderId }
  if (save) await checkGeneratedTarget(ctx, target)
  const speechCall = startSpeech(ctx, ask).then((call) => {
    ctx.answer.headers['x-uk-route'] = `provider=${call.offer.endpoint.slug}; seed=${call.seed}`
    if (call.losses.length > 0) ctx.answer.headers['x-uk-losses'] = lossesHeader(call.losses)
    return call
  })
  return eventsSoon(
    speechCall,
    ctx.engine.headMs,
    (call) => eventsOf(call, tell(ctx, ask, call, save)),
    (failure) => {
      if (ctx.signal.aborted && !(ctx.signal.reason instanceof Refusal)) return null
      const { error } = errorBody(why(ctx, failure))
      return { id: '1', event: 'audio.failed', data: { seq: 1, run_id: newId(), at: iso(ctx.now()), error } }
    },
  )
}

async function* tell(ctx: Ctx, ask: MediaAsk, call: SpeechCall, save: boolean): AsyncGenerator<Event, void, undefined> {
  let seq = 0
  const numberEvent = (event: string, data: Record<string, unknown>): Event => ({
    id: String(++seq),
    event,
    data: { seq, run_id: call.id, at: iso(ctx.now()), ...data },
  })
  await using ending = call
  await using copy = save ? copyOf(ctx.engine.media, ctx.signal) : null
  const { sound } = ending
  const kind = { format: sound.format, sample_rate: sound.sampleRate }
  let size = 0
  let error: ErrorBody['error'] | null = null
  try {
    for await (const part of ending.parts) {
      size += part.length
      await copy?.write(part)
      for (const delta of splitSamples(part, sound.sampleRate))
        yield numberEvent('audio.delta', { audio: delta.toString('base64'), ...kind })
    }
  } catch (failure) {
    const reason: unknown = ctx.signal.aborted ? ctx.signal.reason : null
    if (ctx.signal.aborted && !(reason instanceof Refusal)) return
    error = errorBody(reason instanceof Refusal ? reason : why(ctx, failure)).error
  }
  const { usage, cost } = ending.settle(error === null ? 'succeeded' : 'failed')
  yield numberEvent('usage', { usage, cost_usd: cost === null ? null : toUsd(cost) })
  let file: z.output<typeof MediaFile> | null = null
  let seconds = sound.seconds()
  if (error === null && copy !== null)
    try {
      ;({ file, seconds } = await saveSpeech(ctx, ask, call, copy))
    } catch (failure) {
      error = errorBody(why(ctx, failure)).error
    }
  yield error === null
    ? numberEvent('audio.completed', {
        id: call.id,
        ...kind,
        duration_seconds: seconds === null ? null : Math.round(seconds * 1_000) / 1_000,
        size_bytes: size,
        file,
      })
    : numberEvent('audio.failed', { error })
}

/** Splits at sample boundaries, if the sample rate is known. */
function* splitSamples(part: Uint8Array, sampleRate: number | null): Generator<Buffer> {
  const most = sampleRate === null ? DELTA_BYTES : Math.round(sampleRate * DELTA_SECONDS) * 2
  for (let at = 0; at < part.length; at += most) {
    const { buffer, byteOffset } = part
    yield Buffer.from(buffer, byteOffset + at, Math.min(most, part.length - at))
  }
}

async function saveSpeech(
  ctx: Ctx,
  ask: MediaAsk,
  { sound, offer }: SpeechCall,
  copy: SpeechCopy,
): Promise<{ file: z.output<typeof MediaFile>; seconds: number | null }> {
  const { engine } = ctx
  const account = ctx.principal.accountId
  const stagedFile = await copy.end()
  const audio = { format: sound.format, sampleRate: sound.sampleRate, bytes: stagedFile.read(), units: sound.units }
  const delivery = { kind: 'sound', sound: audio, losses: [] } as const
  const { files } = await collect(engine, 'speech', delivery, { account, signal: ctx.signal })
  try {
    const target = { workspaceId: ctx.workspace!.id, folderId: ask.folderId }
    const [name] = fileNames(ask, files)
    const [one] = files
    const row = await ctx.transaction(async (tx) => {
      const [fileRow] = await keepGenerated(tx, target, [{ name: name!, staged: one!.staged, type: one!.facts.type }])
      return fileRow!
    })
    return { file: await describeFile(ctx, row, one!), seconds: one!.facts.durationSeconds }
  } finally {
    // Kept files are unaffected.
    await discard(files)
    ctx.log.debug({ model: offer.slug }, 'a spoken text was saved')
  }
}

function why(ctx: Ctx, error: unknown): Refusal {
  if (error instanceof Refusal || error instanceof MediaFault) return mediaRefusal(error)
  ctx.log.error({ error: error, request_id: ctx.requestId }, 'a stream of speech broke off')
  return new Refusal('internal_error')
}
