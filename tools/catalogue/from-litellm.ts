import { readFileSync } from 'node:fs'
import type { Kind, Pricing, Variant } from '#gateway/catalogue/model.ts'
import { formatUsd, fromUsd } from '#core/money.ts'
import type { Draft } from './draft.ts'

// The date of the commit whose table was read.
export const source = { name: 'BerriAI/litellm', version: '00035b69', date: '2026-11-22', licence: 'MIT' }

interface Row {
  litellm_provider: string
  mode: 'image_generation' | 'video_generation' | 'audio_speech' | 'audio_transcription'
  input_cost_per_second?: number
  input_cost_per_character?: number
  output_cost_per_image?: number
  output_cost_per_second?: number
  output_cost_per_second_1080p?: number
}

const path = new URL('sources/litellm-00035b69/media.json', import.meta.url)
const rows = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, Row>)

const kinds: Record<Row['mode'], { kind: Kind; input: string[]; output: string[] }> = {
  image_generation: { kind: 'image', input: ['text'], output: ['image'] },
  video_generation: { kind: 'video', input: ['text'], output: ['video'] },
  audio_speech: { kind: 'speech', input: ['text'], output: ['audio'] },
  audio_transcription: { kind: 'transcription', input: ['audio'], output: ['text'] },
}

/** The models of media of one provider, by its name in the table, under ours. */
export function fromLitellm(theirs: string, provider: string): Draft[] {
  return rows
    .filter(([, row]) => row.litellm_provider === theirs)
    .map(([name, row]) => {
      const { kind, input, output } = kinds[row.mode]
      const id = name.slice(name.indexOf('/') + 1)
      return {
        provider,
        upstream_model: id,
        name: id,
        kind,
        context_length: null,
        max_output_tokens: null,
        modalities: { input, output },
        capabilities: [],
        pricing: priceOf(id, row),
        price_source: `${source.name}@${source.version}`,
        price_date: source.date,
      }
    })
}

function priceOf(id: string, row: Row): Pricing {
  const price: Pricing = { input: '0', output: '0' }
  switch (row.mode) {
    case 'image_generation':
      return { ...price, image: perMillion(row.output_cost_per_image) }
    case 'video_generation':
      return { ...price, ...ofVideo(id, row) }
    case 'audio_speech':
      return { ...price, character: perMillion(row.input_cost_per_character) }
    case 'audio_transcription':
      return { ...price, audio_second: perMillion(row.input_cost_per_second) }
  }
}

function ofVideo(id: string, row: Row): Partial<Pricing> {
  const second = perMillion(row.output_cost_per_second)
  const at = (resolution: string, price: string): Variant => ({ when: { resolution }, video_second: price })
  // The vendor makes 4k as well, and the table says nothing of its price: it is in no source.
  if (/^veo-3\.1-(fast-)?generate-/.test(id)) return { variants: [at('720p', second), at('1080p', second)] }
  const dearer = row.output_cost_per_second_1080p
  return { video_second: second, ...(dearer !== undefined && { variants: [at('1080p', perMillion(dearer))] }) }
}

/** The table says what one costs, as a binary number: the decimal that it was written as, a million times. */
function perMillion(price: number | undefined): string {
  if (price === undefined || !(price > 0)) throw new RangeError(`${source.name} names no price where one is due`)
  const words = price.toPrecision(12)
  const [digits, exponent = '0'] = Number(words).toExponential().split('e')
  return formatUsd(fromUsd(shift(digits!, Number(exponent) + 6)))
}

/** `1.9` moved by 2 is `190`. */
function shift(digits: string, by: number): string {
  const [whole = '', fraction = ''] = digits.split('.')
  const all = whole + fraction
  const point = whole.length + by
  if (point <= 0) return `0.${'0'.repeat(-point)}${all}`
  return point >= all.length ? all.padEnd(point, '0') : `${all.slice(0, point)}.${all.slice(point)}`
}
