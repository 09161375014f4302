import { usageOf } from '#core/usage.ts'
import type { Problem } from '../../problem.ts'
import type { Chunk, SoundPiece } from '../../../model/canonical-request.ts'
import type { AnswerAbout } from '../../../model/answer-about.ts'
import { writeUrlCitation } from '../../shared/citations.ts'
import { EventWriter, type Finish, type ContentChunk } from '../../streams/event-writer.ts'
import { compact, type Json } from '../../../model/json.ts'
import { type ChatSurface, errorOfA, errorOfC } from './errors.ts'
import { writePictures } from '../media.ts'
import { isSealed, writeClientDetails, writeTextDetail } from '../reasoning.ts'
import { hidesReasoning } from './reasoning-fields.ts'
import { answerId } from './answer.ts'
import { writeUsage, writeUsageWithCost } from '../usage.ts'

export const keepAlive: Record<ChatSurface, string> = {
  'compat-a': ': keep-alive\n\n',
  'compat-c': ': OPENROUTER PROCESSING\n\n',
}

export class StreamWriter extends EventWriter {
  readonly #surface: ChatSurface
  readonly #about: AnswerAbout
  readonly #includeUsage: boolean
  readonly #calls = new Map<string, number>()
  readonly #hidden: boolean
  #block = 0
  #pictures = 0
  #soundSaid = false
  /** The text of the block, which compat-a repeats with its signature. */
  #thought = ''

  constructor(about: AnswerAbout, surface: ChatSurface, includeUsage: boolean) {
    super()
    this.#about = about
    this.#hidden = hidesReasoning(about.request)
    this.#surface = surface
    this.#includeUsage = includeUsage || surface === 'compat-c'
  }

  protected opening(): string {
    return this.#frame({ choices: [this.#choice({ role: 'assistant', content: '', refusal: null })] })
  }

  protected say(chunk: ContentChunk): string {
    if (this.#hidden && (chunk.type === 'reasoning' || chunk.type === 'reasoning_end')) return ''
    switch (chunk.type) {
      case 'text':
        return chunk.text === '' ? '' : this.#delta({ content: chunk.text })
      case 'image':
        return this.#delta({ images: writePictures([chunk.source], this.#pictures++) })
      case 'audio':
        return this.#delta({ audio: this.#sound(chunk) })
      case 'citation': {
        const annotation = writeUrlCitation(chunk.citation)
        return annotation === null
          ? ''
          : this.#delta({ annotations: [{ type: 'url_citation', url_citation: annotation }] })
      }
      case 'reasoning':
        return chunk.text === '' ? '' : this.#delta(this.#reasoning(chunk.text))
      case 'reasoning_end':
        return this.#endReasoning(chunk)
      case 'tool_call_start': {
        const index = this.#calls.size
        this.#calls.set(chunk.id, index)
        const fn = { name: chunk.name, arguments: '' }
        return this.#delta({ tool_calls: [{ index, id: chunk.id, type: 'function', function: fn }] })
      }
      case 'tool_call_delta': {
        const index = this.#calls.get(chunk.id)
        if (index === undefined || chunk.delta === '') return ''
        return this.#delta({ tool_calls: [{ index, function: { arguments: chunk.delta } }] })
      }
      case 'tool_call_end':
        return ''
    }
  }

  protected closing({ reason, native }: Finish): string {
    const last = this.#frame({ choices: [this.#choice({}, reason, native)] })
    const usage = this.#includeUsage ? this.#frame({ choices: [], usage: this.#usageBody() }) : ''
    return `${last}${usage}data: [DONE]\n\n`
  }

  protected breaking(problem: Problem): string {
    if (this.#surface === 'compat-a') return data({ error: errorOfA(problem) })
    const choice = this.#choice({ content: '' }, 'error', 'error')
    return this.#frame({ error: errorOfC(problem), choices: [choice] })
  }

  #delta(delta: Json): string {
    return this.begin() + this.#frame({ choices: [this.#choice(delta)] })
  }

  /** Its name is sent once, with the first piece. */
  #sound({ data, transcript, id, expires_at }: SoundPiece): Json {
    const name = this.#soundSaid ? id : id || `audio_${this.#about.id}`
    this.#soundSaid = true
    return compact({
      id: name || undefined,
      data: data || undefined,
      transcript: transcript || undefined,
      expires_at: expires_at ?? undefined,
    })
  }

  #reasoning(text: string): Json {
    if (this.#surface === 'compat-a') {
      this.#thought += text
      return { reasoning_content: text }
    }
    return { reasoning: text, reasoning_details: [writeTextDetail(text, this.#block, this.#about.format)] }
  }

  #endReasoning(end: Extract<Chunk, { type: 'reasoning_end' }>): string {
    const index = this.#block++
    const text = this.#thought
    this.#thought = ''
    if (this.#surface === 'compat-a' && !isSealed(end)) return ''
    return this.#delta({ reasoning_details: writeClientDetails({ text, ...end }, index) })
  }

  #choice(delta: Json, finish: string | null = null, native: string | null = null): Json {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finish }
    return this.#surface === 'compat-c' ? { ...choice, native_finish_reason: native } : choice
  }

  #usageBody(): Json {
    const usage = usageOf({ ...this.usage, images: this.#pictures })
    return this.#surface === 'compat-a'
      ? writeUsage(usage, this.media)
      : writeUsageWithCost(usage, this.reported, this.#about, this.media)
  }

  #frame(more: Json): string {
    const { id, created, model, provider } = this.#about
    return data({
      id: answerId(id, this.#surface),
      object: 'chat.completion.chunk',
      created,
      model,
      ...(this.#surface === 'compat-c' && { provider }),
      ...(this.#surface === 'compat-a' && this.#includeUsage && { usage: null }),
      ...more,
    })
  }
}

const data = (frame: Json): string => `data: ${JSON.stringify(frame)}\n\n`
