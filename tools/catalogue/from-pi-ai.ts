import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { formatUsd } from '#core/money.ts'
import { nanoPerMillion, type CatalogueModel, type Prices, type Pricing } from '#gateway/catalogue/model.ts'
import { decimal, type Draft } from './draft.ts'

const folder = new URL('sources/pi-ai-1.5.2/', import.meta.url)
const read = (file: string): unknown => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
const manifest = read('manifest.json') as { generatedAt: string; files: Record<string, string> }

export const source = {
  name: '@earendil-works/pi-ai',
  version: '1.5.2',
  date: manifest.generatedAt.slice(0, 10),
  licence: 'MIT',
}

interface Cost {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

interface Row {
  type: 'chat' | 'image' | 'classifier'
  id: string
  name: string
  reasoning?: boolean
  input: string[]
  output?: string[]
  cost: Cost & { tiers?: (Cost & { inputTokensAbove: number })[] }
  contextWindow?: number
  maxTokens?: number
}

/** The models of one file, under our name for the provider. */
export function fromPiAi(file: string, provider: string): Draft[] {
  const seen = new Map<string, Draft>()
  for (const row of rows(file)) {
    if (row.type === 'classifier') continue
    const known = seen.get(row.id)
    if (known) addOutputs(known, row)
    else seen.set(row.id, draft(row, provider))
  }
  return [...seen.values()]
}

function rows(file: string): Row[] {
  const data = read(file) as Record<string, Record<string, Row>>
  // A formatter may have changed white space, so the values are compared with the published ones.
  const hash = createHash('sha256')
    .update(`${JSON.stringify(data)}\n`)
    .digest('hex')
  if (hash !== manifest.files[file]) throw new Error(`${file} is not what ${source.name} ${source.version} published`)
  return Object.values(data).flatMap((api) => Object.values(api))
}

function draft(row: Row, provider: string): Draft {
  const outputs = row.output ?? ['text']
  const model: Draft = {
    provider,
    upstream_model: row.id,
    name: row.name,
    kind: row.type === 'image' ? 'image' : 'text',
    context_length: row.contextWindow ?? null,
    max_output_tokens: row.maxTokens ?? null,
    modalities: { input: row.input.toSorted(inOrder), output: outputs.toSorted(inOrder) },
    capabilities: capabilities(row),
    ...price(row, provider, outputs),
  }
  return row.cost.tiers?.some((tier) => tier.inputTokensAbove >= (row.contextWindow ?? Infinity)) ? widen(model) : model
}

// The source limits OpenAI's windows to where the long-context price applies; its Azure rows keep the published number.
function widen(model: Draft): Draft {
  const twin = model.provider === 'openai' && rows('azure.json').find((row) => row.id === model.upstream_model)
  return twin && twin.contextWindow ? { ...model, context_length: twin.contextWindow } : model
}

function addOutputs(model: Draft, row: Row): void {
  const output = new Set([...model.modalities.output, ...(row.output ?? [])])
  Object.assign(model.modalities, { output: [...output].toSorted(inOrder) })
  if (output.has('image')) Object.assign(model, unpriced)
}

const inOrder = (a: string, b: string): number => order.indexOf(a) - order.indexOf(b)
const order = ['text', 'image', 'audio', 'video']

function capabilities(row: Row): string[] {
  return [
    row.type === 'chat' && 'tools', // the source lists no chat model without them
    row.type === 'chat' && row.input.includes('image') && 'vision',
    row.reasoning && 'reasoning',
    row.cost.cacheRead > 0 && 'prompt_caching',
  ].filter((word) => typeof word === 'string')
}

const unpriced = { pricing: null, price_source: null, price_date: null }

function price(
  row: Row,
  provider: string,
  outputs: string[],
): Pick<CatalogueModel, 'pricing' | 'price_source' | 'price_date'> {
  // Images made are not charged as text tokens, and the source has only that price.
  if (outputs.includes('image')) return unpriced
  const { tiers = [], ...cost } = row.cost
  // 0 stands for "not known" as well as for "free"; only OpenRouter's `:free` names say which.
  if (!(cost.input > 0 && cost.output > 0) && !row.id.endsWith(':free')) return unpriced
  const hourly = isClaude(row.id, provider)
  const pricing: Pricing = prices(cost, hourly)
  if (tiers.length > 0)
    pricing.tiers = tiers
      .map(({ inputTokensAbove, ...tier }) => ({ above_input_tokens: inputTokensAbove, ...prices(tier, hourly) }))
      .toSorted((a, b) => a.above_input_tokens - b.above_input_tokens)
  return { pricing, price_source: `${source.name}@${source.version}`, price_date: source.date }
}

function prices(cost: Cost, hourly: boolean): Prices {
  const input = decimal(cost.input)
  return {
    input,
    output: decimal(cost.output),
    ...(cost.cacheRead > 0 && { cache_read: decimal(cost.cacheRead) }),
    ...(cost.cacheWrite > 0 && { cache_write_5m: decimal(cost.cacheWrite) }),
    // The package's own rule (`calculateCost`, dist/models.js): Anthropic charges twice the input price for writes kept an hour.
    ...(hourly && cost.cacheWrite > 0 && { cache_write_1h: formatUsd(2n * nanoPerMillion(input)) }),
  }
}

const isClaude = (id: string, provider: string): boolean =>
  provider === 'anthropic' || /(^|[.~])anthropic[./]claude/.test(id)
