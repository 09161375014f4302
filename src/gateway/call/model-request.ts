import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { toUsd } from '#core/money.ts'
import { type Body, type Edit, locate } from '../model/body.ts'
import { isWrapped, lossesOnTheWay } from '../providers/losses.ts'
import { choose } from '../routing/choose.ts'
import { costOf, pricesPictures } from '../model/cost/cost.ts'
import type { PassthroughFormat } from '../passthrough/formats/format.ts'
import type { Listed, Offer } from '../model/offer.ts'
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
import type { GatewayRequest } from '../request/request.ts'
import { conversationOf } from '../routing/cache-affinity.ts'
import { seedIn, summaryOf, strictIn } from '../routing/constraints.ts'
import { liveConstraints } from './live-constraints.ts'

const none: readonly never[] = []
type Chosen = readonly Candidate[]

/** A client's request to a model, who may serve it, and how each of them is asked. */
export class ModelRequest {
  readonly request: GatewayRequest
  readonly body: Body
  readonly format: PassthroughFormat
  /** False: tokens are counted and nothing is generated or charged. */
  readonly metered: boolean
  readonly model: string
  readonly streaming: boolean
  /** The answer is a stream of events: of text, or of pictures and sound. */
  readonly answersEvents: boolean
  /** The place of the model's name in the body; null: it is not there. */
  readonly place: { start: number; end: number } | null
  /** OpenAI's shape says what was used only when asked: then it is asked for in the client's place. */
  readonly usageEdit: Edit | null
  /** Null: the model is asked for as it is, by whoever serves it. */
  readonly #demands: Demands | null
  #seed = 0
  #unserved: readonly string[] = none
  #translation: Translation | null = null
  /** Null: one offer alone can serve, or nothing tells this conversation from others. */
  conversation: string | null = null

  constructor(request: GatewayRequest, body: Body, format: PassthroughFormat, metered: boolean) {
    this.request = request
    this.body = body
    this.format = format
    this.metered = metered
    const model = body.value('model')
    request.surface.refuseHead?.(request.incoming.headers)
    this.#demands = request.surface.demands?.(body) ?? null
    const named = this.#demands === null ? (model ?? format.usualModel) : this.#demands.models[0]
    if (named !== undefined && named !== null && typeof named !== 'string')
      refuse('invalid_parameter', { message: '`model` must be a string.', param: 'model' })
    if (!named) refuse('missing_parameter', { message: 'You must provide a `model` parameter.', param: 'model' })
    this.model = named
    request.model = named
    this.streaming = metered && body.value('stream') === true && format.media === undefined
    this.answersEvents = this.streaming || (metered && format.media?.events?.wanted(body.json) === true)
    this.place = body.has('model') ? locate(body, 'model') : null
    this.usageEdit = this.streaming && format.usageOption ? askForUsage(body) : null
  }

  /** Candidates that may serve it, best first: at least one, or it is refused. */
  candidates(then: (candidates: readonly Candidate[]) => void): void {
    const { request } = this
    const { directory } = request.gateway
    const { principal } = request.caller
    this.#seed = seedIn(request.incoming.headers['x-uk-seed']) ?? newSeed()
    const strict = strictIn(request.incoming.headers['x-uk-strict'])
    const found = (candidates: Chosen): void =>
      then(strict ? onlyLossless(candidates, (offer) => this.lossesTo(offer, this.translatedFor(offer))) : candidates)
    if (this.#demands === null)
      request.after(directory.offers(principal, this.model), (offers) => {
        const only = this.#only(offers)
        if (only !== null) found(only)
        else this.#chosen([{ model: this.model, offers }], found)
      })
    else
      request.after(requestedModels(directory, principal, this.#demands.models), (asked) => {
        this.#unserved = asked.flatMap(({ model, offers }) => (offers.length === 0 ? [model] : []))
        this.#chosen(asked, found)
      })
  }

  /** The caller's list of models is read only where a name leads nowhere. */
  #chosen(asked: readonly RequestedModel[], found: (candidates: Chosen) => void): void {
    const { request } = this
    if (asked.every(({ offers }) => offers.length > 0)) found(this.#choose(asked, none))
    else
      request.after(request.gateway.directory.models(request.caller.principal), (offered) =>
        found(this.#choose(asked, offered)),
      )
  }

  /**
   * The choice where one offer alone serves the model, as for most: it is asked even if data that may be old says that
   * it cannot serve the request.
   */
  #only(offers: readonly Offer[]): Chosen | null {
    const [offer] = offers
    const { surface, caller } = this.request
    if (offers.length !== 1 || caller.payer.rules !== undefined || !canServe(surface, offer!)) return null
    return [{ offer: offer!, asked: this.model, variant: '', weight: 1, reason: '' }]
  }

  #choose(asked: readonly RequestedModel[], offered: readonly Listed[]): Chosen {
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
    return choose(asked, constraints, gateway.health, this.#demands?.together ?? false, {
      unserved: (model) => unknownModel(surface, model, offered, this.#demands !== null),
      shapes: (shapes) =>
        surface.translates
          ? `\`${this.model}\` is served in the API format ${shapes}, which ${surface.name} can’t be translated to.`
          : `\`${this.model}\` doesn’t support ${this.format.path}.`,
    })
  }

  lossesTo(offer: Offer, translated: TranslatedRequest | null): readonly Loss[] {
    const given = this.#lossesBy(offer, translated)
    if (this.#demands === null) return given
    const own = this.#demands.lossesTo(offer)
    const { fulfilled } = this.#demands
    const others = given.filter((name) => !fulfilled.has(name))
    return own.length === 0 ? others : [...new Set([...own, ...others])]
  }

  /** The losses, with the client's own name for a limit that had to be raised. */
  #lossesBy(offer: Offer, translated: TranslatedRequest | null): readonly Loss[] {
    const { body } = this
    const { limitFields, shape } = this.format
    const limit = limitFields.find((name) => typeof body.value(name) === 'number')
    if (translated !== null) return translated.losses.map((name) => (name === LIMIT ? (limit ?? name) : name))
    const losses = lossesOnTheWay(offer.endpoint, body, this.request.incoming.headers)
    if (limit === undefined) return losses
    const asked = body.value(limit) as number
    return raisedLimit(asked, shape) === asked ? losses : [...losses, limit]
  }

  /** The request as this offer is asked; null: with the client's own bytes. */
  translatedFor(offer: Offer): TranslatedRequest | null {
    const { surface } = this.request
    // Wrapped, a count would need a request of another kind: it is a guess.
    const counted = !this.metered && isWrapped(offer.endpoint)
    const averse = refusesHistory(offer.endpoint, this.body)
    const asIs =
      passesThrough(surface, offer) &&
      !counted &&
      !averse &&
      !this.#countsPictures(offer) &&
      !namesAddress(this.body, offer.endpoint) &&
      !surface.foreign(this.body)
    if (!asIs) return this.translation.to(offer)
    this.#refuseStrangers(offer)
    return null
  }

  /**
   * Whether pictures have to be counted while the request is read, for an offer that costs by the picture: nobody
   * counts them in bytes that pass.
   */
  #countsPictures({ endpoint, media, pricing }: Offer): boolean {
    if (endpoint.billing === 'free' || pricing === null || !pricesPictures(pricing)) return false
    const { format, body } = this
    if (format.path !== openaiChat.path || reportedBy(endpoint, 0) !== undefined) return false
    return media?.kind === 'image' || listOf(body.value('modalities')).includes('image')
  }

  /**
   * Refuses references to things that lie at the provider: in an account that many share they may be somebody else's;
   * behind a cloud's door they are out of reach.
   */
  #refuseStrangers({ endpoint }: Offer): void {
    if (endpoint.billing === 'byok' && !isWrapped(endpoint)) return
    const found = storedReferenceInBody(this.body, endpoint.billing !== 'byok')
    if (found !== null) refuseReference(found)
  }

  /** The request as it is read for whoever speaks another shape. */
  get translation(): Translation {
    const { json } = this.body
    return (this.#translation ??= new Translation(
      this.request.surface,
      this.metered ? json : { ...json, max_tokens: 16 },
      this.request.incoming.headers,
    ))
  }

  /** The client's body, without what only means something here. */
  bodyFor(offer: Offer): Body {
    return this.#demands === null ? this.body : this.#demands.bodyFor(offer, this.#unserved)
  }

  /** The facts that its answer by this candidate states of itself. */
  about(id: Id, { offer, asked }: Candidate): AnswerAbout {
    const { body } = this
    return {
      format: formatOf(offer),
      id,
      // Of several models the answer says which one it is.
      model: this.#demands === null ? asked : offer.slug,
      created: Math.floor(Date.now() / 1000),
      provider: offer.endpoint.slug,
      billing: offer.endpoint.billing,
      // Most answers tell nothing of it, and then it is not parsed.
      get request() {
        return body.json
      },
      costOf: (usage, reported, media) => {
        const { nano } = costOf(usage, offer, reportedBy(offer.endpoint, reported ?? undefined), null, { media })
        return nano === null ? null : toUsd(nano)
      },
    }
  }

  /** The route as `x-uk-route` tells it to the client. */
  routeTo(candidate: Candidate | null): string {
    return candidate === null ? `seed=${this.#seed}` : `provider=${candidate.offer.endpoint.slug}; seed=${this.#seed}`
  }
}
