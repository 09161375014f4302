import { refuse } from '#core/errors.ts'
import { type Body, withField, without } from '../../model/body.ts'
import type { Offer } from '../../model/offer.ts'
import { parametersIn } from '../../providers/parameters.ts'
import { readPreferences, unknownPreferences } from '../../routing/preferences.ts'
import { isNamed } from '../../routing/filter.ts'
import { isObject, type Json, listOf } from '../../model/json.ts'
import { list, object, string } from '../../wire/shared/request-fields.ts'
import type { Loss } from '../../model/canonical-request.ts'
import { splitVariant } from '../../routing/model-names/variants.ts'
import { cacheMarkSupport, isAggregator } from '../../providers/supports.ts'
import { passesThrough } from '../../translation/translate.ts'
import type { Demands, Surface } from '../../request/surface.ts'
import { hasOuterMark, isMarked, withMarks } from './cache-marks.ts'

/** Thoughts are left out of answers here, and the router reads the rest. */
const FULFILLED: ReadonlySet<Loss> = new Set('reasoning.exclude provider models route usage session_id'.split(' '))
/** More names than anybody tries one after the other. */
const MOST_MODELS = 32
/** Fields that OpenRouter reads and others refuse or would misread. */
const OWN =
  'provider models route plugins transforms usage session_id trace debug reasoning include_reasoning reasoningEffort'.split(
    ' ',
  )
/** The same, and names inside them that say whether a tool or a plugin is OpenRouter's. */
export const routingNames: readonly string[] = [...OWN, 'enabled', 'id']
/** Where a chat completion travels in the client's own bytes; others are asked by translation. */
export const chat: Pick<Surface, 'shapes'> = { shapes: ['openai-chat', 'ollama'] }
/** Beside chat completions, `reasoning` is a word of other shapes. */
const ROUTING = OWN.filter((name) => !/reasoning/.test(name))
/** Of them, those whose effect the gateway has itself. */
const HEEDED: ReadonlySet<string> = new Set(
  'provider models route usage session_id reasoning include_reasoning reasoningEffort'.split(' '),
)

/** The demands of a request of OpenRouter's kind above a plain chat completion. Null: nothing of the kind. Refuses (`invalid_parameter`) fields of a wrong type. */
export const readDemands = (body: Body): Demands | null => demandsIn(body, OWN)

/** The same of a request that is not a chat completion: who shall serve it. */
export const readRouting = (body: Body): Demands | null => demandsIn(body, ROUTING)

function demandsIn(body: Body, own: readonly string[]): Demands | null {
  const { json } = body
  const named = string(json['model'], 'model') ?? ''
  const isChat = own === OWN
  const relayed = needsRelay(json, isChat)
  const marked = isChat && isMarked(json)
  if (!own.some((name) => json[name] !== undefined) && splitVariant(named).suffix === '' && relayed === null && !marked)
    return null
  const further = (list(json['models'], 'models') ?? []).map((name, i) => string(name, `models.${i}`) ?? '')
  const models = [...new Set([named, ...further])].filter((name) => name !== '')
  if (models.length === 0)
    refuse('missing_parameter', { message: 'You must provide a `model` or `models` parameter.', param: 'model' })
  if (models.length > MOST_MODELS)
    refuse('invalid_parameter', { message: `\`models\` can have up to ${MOST_MODELS} models.`, param: 'models' })
  const preferences = readPreferences(json['provider'], () => parametersIn(json))
  const lost = lossesOf(json, own)
  const plain = new Map<string, Body>()
  return {
    ...preferences,
    constraints: { ...preferences.constraints, ...(relayed !== null && { relayed }) },
    models,
    fulfilled: FULFILLED,
    bodyFor(offer, unserved) {
      if (isAggregator(offer)) return relayBody(body, offer, unserved)
      const thinks = mayThink(offer)
      const marks = marked ? cacheMarkSupport(offer.endpoint) : 'kept'
      const key = `${thinks} ${marks}`
      const sent = plain.get(key) ?? withMarks(plainBody(body, own, thinks), marks)
      plain.set(key, sent)
      return sent
    },
    lossesTo(offer) {
      if (isAggregator(offer)) return []
      // A translation carries more of it, and names what it loses itself.
      if (!passesThrough(chat, offer)) return lost.filter((name) => !name.startsWith('reasoning.'))
      const effort = effortIn(json, own)
      const thoughtless = effort !== null && effort !== 'none' && !mayThink(offer)
      const support = cacheMarkSupport(offer.endpoint)
      const unmarked = marked && (support === 'refused' || (support === 'breakpoints' && hasOuterMark(json)))
      return [...lost, ...(thoughtless ? ['reasoning'] : []), ...(unmarked ? ['cache_control'] : [])]
    },
  }
}

const mayThink = ({ capabilities }: Offer): boolean => capabilities.length === 0 || capabilities.includes('reasoning')

/** Tools and plugins that run inside OpenRouter and change what is answered; in chats it takes `web_search` for one of its own. */
function needsRelay(json: Json, isChat: boolean): string | null {
  for (const tool of listOf(json['tools'])) {
    const type = isObject(tool) ? tool['type'] : null
    if (typeof type === 'string' && (type.startsWith('openrouter:') || (isChat && type === 'web_search'))) return type
  }
  for (const plugin of list(json['plugins'], 'plugins') ?? [])
    if (isObject(plugin) && plugin['enabled'] !== false && plugin['id'] === 'web') return 'plugins.web'
  return null
}

function lossesOf(json: Json, own: readonly string[]): Loss[] {
  const lost = own.filter((name) => {
    const value = json[name]
    return !HEEDED.has(name) && value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
  })
  const reasoning = own.includes('reasoning') ? (object(json['reasoning'], 'reasoning') ?? {}) : {}
  const unknown = isObject(json['provider']) ? unknownPreferences(json['provider']) : []
  return [
    ...lost,
    ...['max_tokens', 'summary'].filter((name) => reasoning[name]).map((name) => `reasoning.${name}`),
    ...unknown.map((name) => `provider.${name}`),
  ]
}

/** As any server of OpenAI's shape takes it. A model that does not think would refuse to be told how hard. */
function plainBody(body: Body, own: readonly string[], thinks: boolean): Body {
  const { json } = body
  const plain = own.some((name) => json[name] !== undefined) ? without(body, new Set(own)) : body
  const effort = effortIn(json, own)
  return !thinks || effort === null || json['reasoning_effort'] !== undefined
    ? plain
    : withField(plain, 'reasoning_effort', effort)
}

/** `reasoningEffort`: as opencode writes it. */
function effortIn({ reasoning, reasoningEffort: word }: Json, own: readonly string[]): string | null {
  if (!own.includes('reasoning')) return null
  return (isObject(reasoning) ? effortOf(reasoning) : null) ?? (typeof word === 'string' ? word : null)
}

function effortOf({ effort, enabled, max_tokens: budget }: Json): string | null {
  if (typeof effort === 'string') return effort
  if (enabled === false) return 'none'
  return enabled === true || typeof budget === 'number' ? 'medium' : null
}

/**
 * As OpenRouter takes it: without names that only mean something here. Models that nobody serves here are for it to serve
 * on the caller's own key; on the instance's they would be asked for at the price of another.
 */
function relayBody(body: Body, { endpoint }: Offer, unknown: readonly string[]): Body {
  const { json } = body
  const unserved = endpoint.billing === 'byok' ? unknown : []
  let sent = body
  if (Array.isArray(json['models']) && json['models'].some((name) => !unserved.includes(String(name))))
    sent = unserved.length > 0 ? withField(sent, 'models', unserved) : without(sent, new Set(['models']))
  const { provider } = json
  if (!isObject(provider)) return sent
  const lists = ['order', 'only', 'ignore'].filter(
    (field) => Array.isArray(provider[field]) && provider[field].some((name) => isNamed(endpoint, String(name))),
  )
  if (lists.length === 0) return sent
  const told: Json = { ...provider }
  for (const field of lists) {
    const left = listOf(provider[field]).filter((name) => !isNamed(endpoint, String(name)))
    if (left.length > 0) told[field] = left
    else delete told[field]
  }
  return withField(sent, 'provider', told)
}
