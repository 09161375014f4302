// Azure OpenAI on loopback: chat completions and embeddings by deployment and `api-version`, and the /openai/v1 paths.
//
// Behind its front it is OpenAI (openai.ts). Azure adds: `api-key` or an Entra token as Bearer, prompt_filter_results
// in a first chunk without choices, content_filter_results in every choice, its own errors.
//
// Sources: learn.microsoft.com/azure/ai-services/openai/reference, AzureOpenAI of openai 7.55.0, issue trackers for the
// first chunk and for DeploymentNotFound.
//
// Unknown, so not played or only guessed:
// - the api-versions that a resource accepts (any of the form YYYY-MM-DD[-preview] here) and the code for others
// - the asynchronous filter's chunks (content_filter_offsets) and groundedness, protected material, jailbreak fields
// - the type of errors from Azure's front (absent here); x-ratelimit resets; Responses, images, audio: 404
import type { Answer, Flow, Frame, Whole } from '../delivery/deliver.ts'
import { OpenAI, openAIModels, type OpenAIModel } from '../openai/openai.ts'
import { parse } from '../delivery/plan.ts'
import { serve, type Call } from '../server.ts'
import type { Json, Options, Refusal, Vendor } from '../vendor.ts'

export type AzureOptions = Options<OpenAIModel> & {
  /** Deployment names with their models; default: each model under `my-<id>`. */
  deployments?: Record<string, string> | undefined
  entraToken?: string | undefined
}

export async function startAzure(options: AzureOptions = {}): Promise<Vendor> {
  const key = options.key ?? 'azure-loopback-0123456789abcdef'
  const shop = new Azure(options, key)
  return await serve({
    key,
    otherwise: options.otherwise,
    answer: (call) => shop.answer(call),
    failure: ({ status, code, message }) => {
      if (status === 400 && code === 'content_filter') return filteredError()
      return problem(status, code ?? String(status), message ?? messageFor(status))
    },
    refusals,
    headers: () => ({
      'apim-request-id': crypto.randomUUID(),
      'x-ms-region': 'East US',
      'x-ratelimit-remaining-requests': '99',
      'x-ratelimit-remaining-tokens': '99000',
    }),
  })
}

class Azure {
  readonly inner: OpenAI
  readonly key: string
  readonly entraToken: string | undefined
  readonly deployments: Map<string, string>

  constructor(options: AzureOptions, key: string) {
    const models = options.models ?? openAIModels
    this.inner = new OpenAI(models, key, {})
    this.key = key
    this.entraToken = options.entraToken
    const deployments = options.deployments ?? Object.fromEntries(models.map((one) => [`my-${one.id}`, one.id]))
    this.deployments = new Map(Object.entries(deployments))
  }

  answer(call: Call): Answer {
    const { method, path, request } = call
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const v1 = path.startsWith('/openai/v1/')
    const known =
      request.headers['api-key'] === this.key ||
      (bearer !== undefined && (bearer === this.entraToken || (v1 && bearer === this.key)))
    if (!known) {
      const message =
        'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.'
      return problem(401, '401', message)
    }
    if (method === 'GET' && path === '/openai/v1/models') return this.#models()
    const match = v1
      ? /^\/openai\/v1\/(chat\/completions|embeddings)$/.exec(path)
      : /^\/openai\/deployments\/([^/]+)\/(chat\/completions|embeddings)$/.exec(path)
    const version = request.query.get('api-version') ?? (v1 ? 'v1' : '')
    const isKnownVersion = /^\d{4}-\d\d-\d\d(-preview)?$/.test(version) || (v1 && ['v1', 'preview'].includes(version))
    if (method !== 'POST' || !match || !isKnownVersion) return problem(404, '404', 'Resource not found')
    const body = parse(request.body)
    if (!body) return problem(400, 'BadRequest', 'The request body is not valid JSON.')
    const name = v1 ? String(body['model']) : decodeURIComponent(match[1] ?? '')
    const model = this.deployments.get(name)
    if (model === undefined) {
      const message =
        'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.'
      return problem(404, 'DeploymentNotFound', message)
    }
    if (path.endsWith('/embeddings')) return this.inner.embeddings(call, { ...body, model })
    const answer = this.inner.chat(call, { ...body, model })
    return 'frames' in answer ? annotatedFlow(answer) : annotate(answer)
  }

  #models(): Whole {
    const data = [...this.deployments.keys()].map((name) => ({
      id: name,
      object: 'model',
      created_at: 1_715_367_049,
      status: 'succeeded',
    }))
    return { status: 200, body: { object: 'list', data } }
  }
}

const categories = ['hate', 'self_harm', 'sexual', 'violence']
const safe = Object.fromEntries(categories.map((name) => [name, { filtered: false, severity: 'safe' }]))
const promptSafe = { prompt_filter_results: [{ prompt_index: 0, content_filter_results: safe }] }

function annotate(answer: Whole): Whole {
  if (answer.status >= 400) return answer
  const body = answer.body as Json
  const choices = (body['choices'] as Json[]).map((one) => ({ ...one, content_filter_results: safe }))
  return { ...answer, body: { ...body, choices, ...promptSafe } }
}

function annotatedFlow(flow: Flow): Flow {
  const first = { choices: [], created: 0, id: '', model: '', object: '', ...promptSafe }
  const frames = flow.frames.map((frame): Frame => {
    if (!('data' in frame) || typeof frame.data === 'string') return frame
    const data = frame.data as Json
    const choices = (data['choices'] as Json[]).map((one) =>
      one['delta'].content ? { ...one, content_filter_results: safe } : { ...one, content_filter_results: {} },
    )
    return { ...frame, data: { ...data, choices } }
  })
  return { ...flow, frames: [{ data: first }, ...frames], opening: flow.opening + 1 }
}

function messageFor(status: number): string {
  if (status === 429)
    return 'Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded call rate limit of your current pricing tier. Please retry after 7 seconds.'
  return 'The server had an error processing your request.'
}

function problem(status: number, code: string, message: string): Whole {
  return { status, body: { error: { code, message } } }
}

/** The words of 403 and of the quota are from other Azure services; here they are guessed. */
const refusals: Record<Refusal, () => Whole> = {
  key: () =>
    problem(
      401,
      '401',
      'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
    ),
  permission: () => problem(403, 'AccessDenied', 'Public access is disabled. Please configure private endpoint.'),
  quota: () => problem(403, '403', 'Out of call volume quota. Quota will be replenished in 12:34:56.'),
  throttle: () => ({
    ...problem(
      429,
      '429',
      'Requests have exceeded the token rate limit of your pricing tier. Please retry after 1 second.',
    ),
    headers: { 'retry-after': '1' },
  }),
}

/** The prompt itself was filtered. */
function filteredError(): Whole {
  const message =
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry."
  const innererror = {
    code: 'ResponsibleAIPolicyViolation',
    content_filter_result: { ...safe, violence: { filtered: true, severity: 'medium' } },
  }
  const error = { message, type: null, param: 'prompt', code: 'content_filter', status: 400, innererror }
  return { status: 400, body: { error } }
}
