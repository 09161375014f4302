import type { z } from 'zod'
import { type FileRow, mintLink, showFile } from '#modules/drive/service.ts'
import type { Context } from '#infra/context.ts'
import type { TranscriptSpan } from '#gateway/media/adapter.ts'
import { toUsd } from '#core/money.ts'
import { storable } from '#core/text/storable.ts'
import { iso } from '#core/time.ts'
import { type MediaAsk, wordsOf } from '../ask.ts'
import type { MediaAnswer, MediaFile, Transcription } from '../contract.ts'
import { subtitlesOf } from '#gateway/media/transcript/subtitles.ts'
import type { CollectedFile } from './collect.ts'
import type { PartEnd } from './part-end.ts'
import type { MediaJob, Settlement } from './store.ts'
import { shorten } from '#core/text/shorten.ts'

/** Links last one day. Callers can request new ones. */
const LINK_SECONDS = 86_400
const NAME_CHARACTERS = 60

type Answer = z.output<typeof MediaAnswer>

export interface JobResult {
  outcome: Settlement
  rows: readonly FileRow[]
  files: readonly CollectedFile[]
  deliveries: readonly Extract<PartEnd, { end: 'delivered' }>[]
  complete: boolean
}

export async function answerOf(
  ctx: Context,
  job: MediaJob,
  { outcome, rows, files, deliveries: delivered, complete }: JobResult,
): Promise<Answer | z.output<typeof Transcription>> {
  const { request, subtitles } = job.request
  const losses = new Set(delivered.flatMap(({ collected }) => collected.losses))
  if (!complete) losses.add('n')
  const offer = job.offer!
  const answer: Answer = {
    id: job.id,
    created_at: iso(job.created_at),
    kind: request.kind,
    model: offer.slug,
    provider: offer.endpoint.slug,
    files: await Promise.all(rows.map((row, i) => describeFile(ctx, row, files[i]!))),
    simulated: offer.endpoint.slug === 'sim',
    losses: [...losses],
    usage: outcome.usage,
    cost_usd: outcome.cost === null ? null : toUsd(outcome.cost),
  }
  const transcript = delivered[0]?.collected.transcript
  if (!transcript) return answer
  return {
    ...answer,
    text: storable(transcript.text),
    language: transcript.language,
    duration_seconds: transcript.durationSeconds,
    segments: transcript.segments.map(showTranscript),
    words: transcript.words?.map(showTranscript) ?? null,
    subtitles: subtitles === null ? null : storable(subtitlesOf(transcript.segments, subtitles)),
  }
}

export async function describeFile(
  ctx: Context,
  row: FileRow,
  { facts, revisedPrompt }: CollectedFile,
): Promise<z.output<typeof MediaFile>> {
  const { url, expires_at } = await mintLink(ctx, row, { seconds: LINK_SECONDS, once: false, disposition: 'inline' })
  return {
    ...showFile(row),
    width: facts.width,
    height: facts.height,
    duration_seconds: facts.durationSeconds,
    url,
    url_expires_at: iso(expires_at),
    revised_prompt: revisedPrompt === null ? null : storable(revisedPrompt),
  }
}

const showTranscript = ({ startSeconds, endSeconds, text, speaker }: TranscriptSpan) => ({
  start_seconds: startSeconds,
  end_seconds: endSeconds,
  text: storable(text),
  speaker: speaker === null ? null : storable(speaker),
})

/** One name per file: the caller's, or the start of the prompt, with the extension of the detected type. */
export function fileNames(ask: MediaAsk, files: readonly Pick<CollectedFile, 'facts'>[]): string[] {
  const words = wordsOf(ask).replaceAll(/\s+/g, ' ').trim()
  // Drops the punctuation at the end of a sentence.
  const stem = ask.name === null ? shorten(words, NAME_CHARACTERS).replace(/[\s.,;:]+$/, '') : words
  return files.map(({ facts: { extension } }) => {
    const ending = `.${extension}`
    const base = stem.toLowerCase().endsWith(ending) ? stem.slice(0, -ending.length) : stem
    // A leading dot would hide the file on most systems.
    return `${base.replace(/^\.+/, '').replaceAll('/', ' ').trim() || ask.request.kind}${ending}`
  })
}
