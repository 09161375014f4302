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

/** Implemented here: reasoning is left out of answers, and the router reads the rest. */
const FULFILLED: ReadonlySet<Loss> = new Set('reasoning.exclude provider models route usage session_id'.split(' '))
const MAX_MODELS = 32
/** Fields that OpenRouter reads and others reject or misread. */
const OWN =
  'provider models route plugins transforms usage session_id trace debug reasoning include_reasoning reasoningEffort'.split(
    ' ',
  )
/** The same, plus nested names that identify OpenRouter's own tools and plugins. */
export const routingNames: readonly string[] = [...OWN, 'enabled', 'id']
export const chat: Pick<Surface, 'shapes'> = { shapes: ['openai-chat', 'ollama'] }
const ROUTING = OWN.filter((name) => !/reasoning/.test(name))
const HEEDED: ReadonlySet<string> = new Set(
  'provider models route usage session_id reasoning include_reasoning reasoningEffort'.split(' '),
)

/** Null: a plain chat completion. Refuses (`invalid_parameter`) fields of the wrong type. */
export const readDemands = (body: Body): Demands | null => demandsIn(body, OWN)

export const readRouting = (body: Body): Demands | null => demandsIn(body, ROUTING)

function demandsIn(body: Body, own: readonly string[]): Demands | null {
  const { json } = body
  const modelName = string(json['model'], 'model') ?? ''
  const isChat = own === OWN
  const relayReason = needsRelay(json, isChat)
  const hasMarks = isChat && isMarked(json)
  if (
    !own.some((name) => json[name] !== undefined) &&
    splitVariant(modelName).suffix === '' &&
    relayReason === null &&
    !hasMarks
  )
    return null
  const further = (list(json['models'], 'models') ?? []).map((name, i) => string(name, `models.${i}`) ?? '')
  const models = [...new Set([modelName, ...further])].filter((name) => name !== '')
  if (models.length === 0)
    refuse('missing_parameter', { message: 'You must provide a `model` or `models` parameter.', param: 'model' })
  if (models.length > MAX_MODELS)
    refuse('invalid_parameter', { message: `\`models\` can have up to ${MAX_MODELS} models.`, param: 'models' })
  const preferences = readPreferences(json['provider'], () => parametersIn(json))
  const losses = lossesOf(json, own)
  const plain = new Map<string, Body>()
  return {
    ...preferences,
    constraints: { ...preferences.constraints, ...(relayReason !== null && { relayed: relayReason }) },
    models,
    fulfilled: FULFILLED,
    bodyFor(offer, unservedModels) {
      if (isAggregator(offer)) return relayBody(body, offer, unservedModels)
      const thinks = mayThink(offer)
      const marks = hasMarks ? cacheMarkSupport(offer.endpoint) : 'kept'
      const key = `${thinks} ${marks}`
      const sentBody = plain.get(key) ?? withMarks(plainBody(body, own, thinks), marks)
      plain.set(key, sentBody)
      return sentBody
    },
    lossesTo(offer) {
      if (isAggregator(offer)) return []
      // A translation carries more fields and reports its own losses.
      if (!passesThrough(chat, offer)) return losses.filter((name) => !name.startsWith('reasoning.'))
      const effort = effortIn(json, own)
      const thoughtless = effort !== null && effort !== 'none' && !mayThink(offer)
      const support = cacheMarkSupport(offer.endpoint)
      const losesMarks = hasMarks && (support === 'refused' || (support === 'breakpoints' && hasOuterMark(json)))
      return [...losses, ...(thoughtless ? ['reasoning'] : []), ...(losesMarks ? ['cache_control'] : [])]
    },
  }
}

const mayThink = ({ capabilities }: Offer): boolean => capabilities.length === 0 || capabilities.includes('reasoning')

/** Such a tool or plugin runs inside OpenRouter. In chats, `web_search` is OpenRouter's. */
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
  const losses = own.filter((name) => {
    const value = json[name]
    return !HEEDED.has(name) && value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
  })
  const reasoning = own.includes('reasoning') ? (object(json['reasoning'], 'reasoning') ?? {}) : {}
  const unknown = isObject(json['provider']) ? unknownPreferences(json['provider']) : []
  return [
    ...losses,
    ...['max_tokens', 'summary'].filter((name) => reasoning[name]).map((name) => `reasoning.${name}`),
    ...unknown.map((name) => `provider.${name}`),
  ]
}

/** A model without reasoning would reject an effort. */
function plainBody(body: Body, own: readonly string[], thinks: boolean): Body {
  const { json } = body
  const plain = own.some((name) => json[name] !== undefined) ? without(body, new Set(own)) : body
  const effort = effortIn(json, own)
  return !thinks || effort === null || json['reasoning_effort'] !== undefined
    ? plain
    : withField(plain, 'reasoning_effort', effort)
}

/** `reasoningEffort`: opencode's spelling. */
function effortIn({ reasoning, reasoningEffort: word }: Json, own: readonly string[]): string | null {
  if (!own.includes('reasoning')) return null
  return (isObject(reasoning) ? effortOf(reasoning) : null) ?? (typeof word === 'string' ? word : null)
}

function effortOf({ effort, enabled: isEnabled, max_tokens: budget }: Json): string | null {
  if (typeof effort === 'string') return effort
  if (isEnabled === false) return 'none'
  return isEnabled === true || typeof budget === 'number' ? 'medium' : null
}

/**
 * Models without a provider here may be served by OpenRouter on the caller's own key; on the instance's they would be
 * charged at another model's price.
 */
function relayBody(body: Body, { endpoint }: Offer, unknown: readonly string[]): Body {
  const { json } = body
  const forwardedModels = endpoint.billing === 'byok' ? unknown : []
  let sentBody = body
  if (Array.isArray(json['models']) && json['models'].some((name) => !forwardedModels.includes(String(name))))
    sentBody =
      forwardedModels.length > 0
        ? withField(sentBody, 'models', forwardedModels)
        : without(sentBody, new Set(['models']))
  const { provider } = json
  if (!isObject(provider)) return sentBody
  const lists = ['order', 'only', 'ignore'].filter(
    (field) => Array.isArray(provider[field]) && provider[field].some((name) => isNamed(endpoint, String(name))),
  )
  if (lists.length === 0) return sentBody
  const preferences: Json = { ...provider }
  for (const field of lists) {
    const remaining = listOf(provider[field]).filter((name) => !isNamed(endpoint, String(name)))
    if (remaining.length > 0) preferences[field] = remaining
    else delete preferences[field]
  }
  return withField(sentBody, 'provider', preferences)
}
