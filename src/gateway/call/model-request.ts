import type { Payer } from '#infra/ledger/ledger.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { toUsd } from '#core/money.ts'
import { type Body, type Edit, locate } from '../model/body.ts'
import { isWrapped, lossesOnTheWay } from '../providers/losses.ts'
import { choose } from '../routing/choose.ts'
import { costOf, pricesPictures } from '../model/cost/cost.ts'
import type { PassthroughFormat } from '../passthrough/formats/format.ts'
import type { ListedOffer, Offer } from '../model/offer.ts'
import { namesAddress } from '../translation/fetched-media.ts'
import { storedReferenceInBody } from '../stored-references/find.ts'
import { refuseReference } from '../stored-references/refuse.ts'
import { type RequestedModel, type Candidate, newSeed } from '../routing/router.ts'
import type { AnswerAbout } from '../model/answer-about.ts'
import { raisedLimit } from '../wire/shared/least-output.ts'
import { LIMIT } from '../wire/shared/losses.ts'
import type { Demands } from '../request/surface.ts'
import { formatOf, refusesHistory, reportedBy } from '../providers/supports.ts'
import { unknownModel } from '../routing/model-names/unknown-model.ts'
import { Translation, type TranslatedRequest, canServe, onlyLossless, passesThrough } from '../translation/translate.ts'
import { openaiChat } from '../passthrough/formats/openai-chat.ts'
import { listOf } from '../model/json.ts'
import { askForUsage } from '../passthrough/forwarded-body.ts'
import type { Loss } from '../model/canonical-request.ts'
import { requestedModels } from '../routing/model-names/variants.ts'
import type { Gateway } from '../request/gateway.ts'
import type { RequestFacts } from '../request/logged.ts'
import type { GatewayRequest } from '../request/request.ts'
import type { CallRequest } from './handler.ts'
import { conversationOf } from '../routing/cache-affinity.ts'
import { seedIn, summaryOf, strictIn } from '../routing/constraints.ts'
import { liveConstraints } from './live-constraints.ts'

const none: readonly never[] = []
type Candidates = readonly Candidate[]

/** A request of a surface for a model: what it asks for, and who may serve it. */
export class ModelRequest implements CallRequest {
  readonly request: GatewayRequest
  readonly body: Body
  readonly format: PassthroughFormat
  /** False: tokens are only counted, and nothing is charged. */
  readonly metered: boolean
  readonly model: string
  readonly streaming: boolean
  readonly answersEvents: boolean
  readonly place: { start: number; end: number } | null
  /** OpenAI's shape only reports usage on request, so the gateway requests it for the client. */
  readonly usageEdit: Edit | null
  readonly #demands: Demands | null
  #seed = 0
  #unserved: readonly string[] = none
  #translation: Translation | null = null
  /** Null: there is only one offer, or nothing identifies this conversation. */
  conversation: string | null = null

  constructor(request: GatewayRequest, body: Body, format: PassthroughFormat, isMetered: boolean) {
    this.request = request
    this.body = body
    this.format = format
    this.metered = isMetered
    const model = body.value('model')
    request.surface.refuseHead?.(request.incoming.headers)
    this.#demands = request.surface.demands?.(body) ?? null
    const modelName = this.#demands === null ? (model ?? format.usualModel) : this.#demands.models[0]
    if (modelName !== undefined && modelName !== null && typeof modelName !== 'string')
      refuse('invalid_parameter', { message: '`model` must be a string.', param: 'model' })
    if (!modelName) refuse('missing_parameter', { message: 'You must provide a `model` parameter.', param: 'model' })
    this.model = modelName
    request.model = modelName
    this.streaming = isMetered && body.value('stream') === true && format.media === undefined
    this.answersEvents = this.streaming || (isMetered && format.media?.events?.wanted(body.json) === true)
    this.place = body.has('model') ? locate(body, 'model') : null
    this.usageEdit = this.streaming && format.usageOption ? askForUsage(body) : null
  }

  get gateway(): Gateway {
    return this.request.gateway
  }
  get payer(): Payer {
    return this.request.caller.payer
  }
  get surface(): string {
    return this.request.surface.name
  }
  get id(): Id {
    return this.request.id
  }
  get startedAt(): number {
    return this.request.startedAt
  }
  get gone(): boolean {
    return this.request.closed
  }
  asked(): RequestFacts {
    return this.request.asked()
  }

  candidates(then: (candidates: readonly Candidate[]) => void): void {
    const { request } = this
    const { directory } = request.gateway
    const { principal } = request.caller
    this.#seed = seedIn(request.incoming.headers['x-uk-seed']) ?? newSeed()
    const strict = strictIn(request.incoming.headers['x-uk-strict'])
    const onCandidates = (candidates: Candidates): void =>
      then(strict ? onlyLossless(candidates, (offer) => this.lossesTo(offer, this.translatedFor(offer))) : candidates)
    if (this.#demands === null)
      request.after(directory.offers(principal, this.model), (offers) => {
        const only = this.#only(offers)
        if (only !== null) onCandidates(only)
        else this.#chosen([{ model: this.model, offers }], onCandidates)
      })
    else
      request.after(requestedModels(directory, principal, this.#demands.models), (requested) => {
        this.#unserved = requested.flatMap(({ model, offers }) => (offers.length === 0 ? [model] : []))
        this.#chosen(requested, onCandidates)
      })
  }

  /** The caller's list of models is only read if a name has no offers. */
  #chosen(requested: readonly RequestedModel[], onCandidates: (candidates: Candidates) => void): void {
    const { request } = this
    if (requested.every(({ offers }) => offers.length > 0)) onCandidates(this.#choose(requested, none))
    else
      request.after(request.gateway.directory.models(request.caller.principal), (models) =>
        onCandidates(this.#choose(requested, models)),
      )
  }

  /**
   * Handles the common case of a single offer: it is tried even if possibly outdated data says that it can't serve the
   * request.
   */
  #only(offers: readonly Offer[]): Candidates | null {
    const [offer] = offers
    const { surface, caller } = this.request
    if (offers.length !== 1 || caller.payer.rules !== undefined || !canServe(surface, offer!)) return null
    return [{ offer: offer!, asked: this.model, variant: '', weight: 1, reason: '' }]
  }

  #choose(requested: readonly RequestedModel[], models: readonly ListedOffer[]): Candidates {
    const { surface, gateway, caller, incoming } = this.request
    this.conversation = conversationOf(caller.limitId, this.body.json, incoming.headers['x-session-id'])
    const constraints = {
      ...liveConstraints(gateway, caller.payer, {
        summary: summaryOf(this.body.json, this.format.limitFields),
        seed: this.#seed,
        conversation: this.conversation,
        serves: (offer) => canServe(surface, offer),
      }),
      ...this.#demands?.constraints,
    }
    return choose(requested, constraints, gateway.health, this.#demands?.together ?? false, {
      unserved: (model) => unknownModel(surface, model, models, this.#demands !== null),
      shapes: (shapes) =>
        surface.translates
          ? `\`${this.model}\` is served in the API format ${shapes}, which ${surface.name} can’t be translated to.`
          : `\`${this.model}\` doesn’t support ${this.format.path}.`,
    })
  }

  lossesTo(offer: Offer, translation: TranslatedRequest | null): readonly Loss[] {
    const losses = this.#lossesBy(offer, translation)
    if (this.#demands === null) return losses
    const own = this.#demands.lossesTo(offer)
    const { fulfilled } = this.#demands
    const others = losses.filter((name) => !fulfilled.has(name))
    return own.length === 0 ? others : [...new Set([...own, ...others])]
  }

  #lossesBy(offer: Offer, translation: TranslatedRequest | null): readonly Loss[] {
    const { body } = this
    const { limitFields, shape } = this.format
    const limit = limitFields.find((name) => typeof body.value(name) === 'number')
    if (translation !== null) return translation.losses.map((name) => (name === LIMIT ? (limit ?? name) : name))
    const losses = lossesOnTheWay(offer.endpoint, body, this.request.incoming.headers)
    if (limit === undefined) return losses
    const requestedLimit = body.value(limit) as number
    return raisedLimit(requestedLimit, shape) === requestedLimit ? losses : [...losses, limit]
  }

  translatedFor(offer: Offer): TranslatedRequest | null {
    const { surface } = this.request
    // A wrapped endpoint would need another request to count tokens, so they are estimated.
    const isEstimate = !this.metered && isWrapped(offer.endpoint)
    const averse = refusesHistory(offer.endpoint, this.body)
    const asIs =
      passesThrough(surface, offer) &&
      !isEstimate &&
      !averse &&
      !this.#countsPictures(offer) &&
      !namesAddress(this.body, offer.endpoint) &&
      !surface.foreign(this.body)
    if (!asIs) return this.translation.to(offer)
    this.#refuseStrangers(offer)
    return null
  }

  /**
   * True if images must be counted while reading the answer, for offers priced per image: passed bytes contain no
   * count.
   */
  #countsPictures({ endpoint, media, pricing }: Offer): boolean {
    if (endpoint.billing === 'free' || pricing === null || !pricesPictures(pricing)) return false
    const { format, body } = this
    if (format.path !== openaiChat.path || reportedBy(endpoint, 0) !== undefined) return false
    return media?.kind === 'image' || listOf(body.value('modalities')).includes('image')
  }

  /** In a shared account, stored objects may belong to another user; at a cloud platform they aren't available. */
  #refuseStrangers({ endpoint }: Offer): void {
    if (endpoint.billing === 'byok' && !isWrapped(endpoint)) return
    const reference = storedReferenceInBody(this.body, endpoint.billing !== 'byok')
    if (reference !== null) refuseReference(reference)
  }

  get translation(): Translation {
    const { json } = this.body
    return (this.#translation ??= new Translation(
      this.request.surface,
      this.metered ? json : { ...json, max_tokens: 16 },
      this.request.incoming.headers,
    ))
  }

  bodyFor(offer: Offer): Body {
    return this.#demands === null ? this.body : this.#demands.bodyFor(offer, this.#unserved)
  }

  about(id: Id, { offer, asked: requestedName }: Candidate): AnswerAbout {
    const { body } = this
    return {
      format: formatOf(offer),
      id,
      model: this.#demands === null ? requestedName : offer.slug,
      created: Math.floor(Date.now() / 1000),
      provider: offer.endpoint.slug,
      billing: offer.endpoint.billing,
      // Most answers don't need it, and then it isn't parsed.
      get request() {
        return body.json
      },
      costOf: (usage, reportedUsd, media) => {
        const { nano } = costOf(usage, offer, reportedBy(offer.endpoint, reportedUsd ?? undefined), null, { media })
        return nano === null ? null : toUsd(nano)
      },
    }
  }

  routeTo(candidate: Candidate | null): string {
    return candidate === null ? `seed=${this.#seed}` : `provider=${candidate.offer.endpoint.slug}; seed=${this.#seed}`
  }
}
