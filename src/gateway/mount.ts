import type { IncomingMessage } from 'node:http'
import { type Refusal, refuse } from '#core/errors.ts'
import type { Reply, WholeRequest } from '#core/http/exchange.ts'
import type { Id } from '#core/ids.ts'
import type { CountLimits } from '#core/json/json-counts.ts'
import { type Body, readBody } from './model/body.ts'
import { conversationLimits, holdsConversation } from './model/conversation-limits.ts'
import { scanBody } from './scan-body.ts'
import { refuseTwin, refuseTwins } from './judged-names/twins.ts'
import { type CompleteTurn, createCompleteTurn } from './call/complete.ts'
import { type Embed, createEmbed } from './call/embed.ts'
import { boundaryOf, readForm } from './model/form.ts'
import { ModelRequest } from './call/model-request.ts'
import { type MediaGateway, createMediaGateway } from './media/gateway.ts'
import type { MediaDirectory } from './media/models.ts'
import { Health, type SharedHealth } from './routing/health.ts'
import { withKeptItems } from './stored-references/kept-items.ts'
import { listModels, showModel } from './surfaces/list-models.ts'
import type { Gateway, GatewayParts } from './request/gateway.ts'
import type { ErrorAnswer } from './wire/problem.ts'
import { SurfaceCall } from './call/surface-call.ts'
import { type Offer, isMediaOffer } from './model/offer.ts'
import { isAskedAsOpenai } from './media/vendors/every-adapter.ts'
import { canServe, serveMedia } from './surfaces/compat-a/media/serve.ts'
import { pricedByUnits } from './surfaces/compat-a/media/price-passthrough.ts'
import { serveVideos } from './surfaces/compat-a/media/videos.ts'
import { passesThrough } from './translation/translate.ts'
import { compatAPassed } from './surfaces/compat-a/passthrough.ts'
import { compatACompact, compatAResponses } from './surfaces/compat-a/responses.ts'
import { passStored } from './surfaces/stored-responses.ts'
import { type PreviewRoute, createPreviewRoute } from './call/preview.ts'
import { compatA } from './surfaces/compat-a/surface.ts'
import { compatB } from './surfaces/compat-b/surface.ts'
import { accountReads } from './surfaces/compat-c/account.ts'
import { showEndpoints } from './surfaces/compat-c/endpoints.ts'
import { compatCFurther } from './surfaces/compat-c/further.ts'
import { compatC } from './surfaces/compat-c/surface.ts'
import type { PassthroughFormat } from './passthrough/formats/format.ts'
import type { Operation, Surface } from './request/surface.ts'
import { GatewayRequest } from './request/request.ts'
import { CacheAffinity } from './routing/cache-affinity.ts'

export interface GatewayMount {
  prefix: string
  /** The gateway writes the request ID and all other headers itself. */
  ownHead: true
  handle(incoming: IncomingMessage, response: Reply, requestId: Id): void
  refusal(why: Refusal, requestId: Id): ErrorAnswer
  interrupt(why: Refusal): void
  fast?: { paths: readonly string[]; handle(incoming: WholeRequest, reply: Reply, requestId: Id): void }
}

export interface GatewayFaces {
  mounts: GatewayMount[]
  completeTurn: CompleteTurn
  embed: Embed
  previewRoute: PreviewRoute
  media: MediaGateway
  /** Provider health as seen by this process: live calls and `routing-preview` use the same. */
  health: Health
}

export const surfaces: readonly Surface[] = [
  compatA,
  compatAResponses,
  compatACompact,
  ...compatAPassed,
  compatB,
  compatC,
  ...compatCFurther,
]

export function createGateway(parts: GatewayParts & { directory: MediaDirectory & SharedHealth }): GatewayFaces {
  const gateway: Gateway = {
    ...parts,
    health: new Health(parts.directory),
    cacheAffinity: new CacheAffinity(),
    inProgress: [],
  }
  parts.directory.inUse(() => gateway.inProgress.flatMap((request) => [...request.uses()]))
  const media = createMediaGateway(gateway, parts.directory, parts.engine.media)
  const byUrl = new Map<string, Place>()
  const roots = new Map<string, Surface>()
  const prefixes = new Map<string, Surface>()
  for (const surface of surfaces)
    for (const root of surface.roots) {
      if (!roots.has(root)) roots.set(root, surface)
      if (!prefixes.has(prefixOf(root))) prefixes.set(prefixOf(root), surface)
      for (const path in surface.routes) byUrl.set(root + path, { surface, methods: surface.routes[path]!, id: path })
    }

  /** Ignores the query and doubled and trailing slashes. */
  function placeOf(url: string): Place | null {
    const exact = byUrl.get(url)
    if (exact) return exact
    const mark = url.indexOf('?')
    const path = (mark < 0 ? url : url.slice(0, mark)).replaceAll(/\/{2,}/g, '/').replace(/\/$/, '')
    const tidy = byUrl.get(path)
    if (tidy) return tidy
    for (const [root, surface] of roots) {
      if (!path.startsWith(`${root}/`)) continue
      const start = path.indexOf('/', root.length + 1) + 1
      const family = start > 0 ? byUrl.get(`${path.slice(0, start)}*`) : undefined
      return family ? { ...family, id: decode(path.slice(start)) } : { surface, methods: {}, id: '' }
    }
    return { surface: prefixes.get(prefixOf(path)) ?? compatA, methods: {}, id: '' }
  }

  function handle(incoming: IncomingMessage | WholeRequest, response: Reply, requestId: Id): void {
    const { surface, methods, id } = placeOf(incoming.url!)!
    const request = new GatewayRequest(gateway, surface, incoming, response, requestId)
    request.attempt(() => {
      if (incoming.method === 'OPTIONS') return preflight(request, Object.keys(methods))
      const operation = operationOf(surface, methods, incoming)
      request.enter(operation, () => run(request, media, operation, id))
    })
  }

  function interrupt(why: Refusal): void {
    // Each request leaves the list when it is notified.
    while (gateway.inProgress.length > 0) gateway.inProgress.at(-1)!.interrupt(why)
  }

  const posts = [...byUrl].flatMap(([path, { methods }]) => ('POST' in methods ? [path] : []))
  return {
    // Clients with an extra slash at the end of their base URL request `//compat-a/v1/…`.
    mounts: [...prefixes].flatMap(([own, surface]) =>
      [own, `/${own}`].map((prefix) => ({
        prefix,
        ownHead: true,
        handle,
        refusal: surface.error,
        interrupt,
        fast: { paths: posts.filter((path) => path.startsWith(prefix)), handle },
      })),
    ),
    completeTurn: createCompleteTurn(gateway),
    embed: createEmbed(gateway),
    previewRoute: createPreviewRoute(gateway),
    media,
    health: gateway.health,
  }
}

const prefixOf = (path: string): string => `${path}/`.slice(0, `${path}/`.indexOf('/', 1) + 1)

interface Place {
  surface: Surface
  methods: Readonly<Record<string, Operation>>
  id: string
}

function operationOf(
  { roots: [root], routes }: Surface,
  methods: Place['methods'],
  { method, url }: IncomingMessage | WholeRequest,
): Operation {
  const allowedMethods = Object.keys(methods)
  if (allowedMethods.length === 0)
    // Usually the base URL has a missing or extra `/v1`.
    refuse('not_found', {
      message: `The path ${method} ${url!.split('?')[0]} doesn’t exist. Paths here look like ${root}${Object.keys(routes)[0]}.`,
    })
  const operation = methods[method === 'HEAD' ? 'GET' : method!]
  if (operation) return operation
  const allow = allowedMethods.join(', ')
  return refuse('method_not_allowed', { message: `This path supports ${allow}.`, headers: { allow } })
}

function preflight({ head, response, gateway }: GatewayRequest, methods: string[]): void {
  response.writeHead(204, [...head, ...gateway.preflightHead(methods)]).end()
}

const ENDPOINTS = '/endpoints'
const VIDEOS = '/videos'

function run(request: GatewayRequest, media: MediaGateway, operation: Operation, id: string): void {
  switch (operation) {
    case 'generate':
      return request.readBody((bytes) =>
        request.after(withRecalled(request, bodyOf(request, bytes)), (body) =>
          request.after(passedIn(request, body, bytes), (format) => {
            if (format === null) return serveMedia(request, media, id, bytes)
            return new SurfaceCall(new ModelRequest(request, body, format, true)).start()
          }),
        ),
      )
    case 'count_tokens':
      return request.readBody((bytes) =>
        request.after(withRecalled(request, readJson(bytes, conversationLimits)), (body) =>
          new SurfaceCall(new ModelRequest(request, body, request.surface.count!.format, false)).start(),
        ),
      )
    case 'begin_video':
      return request.readBody((bytes) => serveVideos(request, request.gateway.videos(), '', bytes))
    case 'videos':
      return serveVideos(request, request.gateway.videos(), id === VIDEOS ? '' : id, null)
    case 'models':
      return listModels(request)
    case 'model':
      return showModel(request, id)
    case 'model_or_endpoints':
      return id.endsWith(ENDPOINTS) ? showEndpoints(request, id.slice(0, -ENDPOINTS.length)) : showModel(request, id)
    case 'stored':
      return passStored(request, id)
    case 'account':
      return accountReads[id]!(request)
  }
}

/**
 * Null for media if no provider of the model speaks the client's shape, or if under a cap or balance the provider is
 * called differently than OpenAI: the reservation then prices the request in the provider's terms.
 */
function passedIn(
  request: GatewayRequest,
  body: Body,
  bytes: Buffer,
): PassthroughFormat | null | Promise<PassthroughFormat | null> {
  const { surface, gateway, caller } = request
  const { format } = surface
  const { media, path } = format
  const model = media === undefined ? undefined : body.json['model']
  if (typeof model !== 'string') return format
  const { ledger } = gateway.engine
  const isRewritten = (offer: Offer): boolean =>
    canServe(path) &&
    isMediaOffer(offer) &&
    offer.media.pricing !== null &&
    ledger.isGuarded(caller.payer, offer.endpoint.billing) &&
    !isAskedAsOpenai(offer, path)
  const fitting = (offers: readonly Offer[]): PassthroughFormat | null | Promise<PassthroughFormat | null> => {
    const own = offers.filter((offer) => passesThrough(surface, offer) && !isOwn(offer))
    const isPassed = offers.length === 0 || (own.length > 0 && !own.some(isRewritten))
    return isPassed ? pricedByUnits(request, format, body, bytes, own) : null
  }
  const offers = gateway.directory.offers(caller.principal, model)
  return offers instanceof Promise ? offers.then(fitting) : fitting(offers)
}

/** The server's own voices are called in-process, and speech models on computers in our own format. */
const isOwn = (offer: Offer): boolean =>
  offer.endpoint.slug === 'local' && (offer.endpoint.dispatch === undefined || isMediaOffer(offer))

function bodyOf({ surface, incoming }: GatewayRequest, bytes: Buffer): Body {
  const boundary = surface.format.media ? boundaryOf(incoming.headers['content-type']) : null
  if (boundary !== null) return readForm(bytes, boundary, refuseTwin)
  return readJson(bytes, holdsConversation(surface.format) ? conversationLimits : null)
}

/** Reads a JSON body that every parser reads the same way, case-sensitive or not. */
function readJson(bytes: Buffer, limits: CountLimits | null): Body {
  const body = readBody(bytes, scanBody, limits)
  refuseTwins(body)
  return body
}

function decode(words: string): string {
  try {
    return decodeURIComponent(words)
  } catch {
    return words
  }
}

const withRecalled = ({ surface, gateway, caller }: GatewayRequest, body: Body): Body | Promise<Body> =>
  surface.keeps === undefined ? body : withKeptItems(body, gateway.engine.items, caller.principal)
