import { rulesFor } from '#core/principal.ts'
import { callersAccount } from '#modules/accounts/service.ts'
import { type AgentRow, agentBehind } from '#modules/agents/service.ts'
import type { Context } from '#infra/context.ts'
import type { ListedOffer, Offer } from '#gateway/model/offer.ts'
import { brokenRule } from '#gateway/routing/filter.ts'
import { noSuchModel, visibleModels } from '#gateway/routing/model-names/unknown-model.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { ChatRow } from '../store.ts'
import type { HasEndpoints } from '#modules/ai-gateway/service.ts'

/** Returns the chat's agent and model. May query a provider, so call it before locking rows. */
export async function answererOf(
  ctx: Context<HasEndpoints>,
  chat: ChatRow,
  named?: string,
): Promise<{ model: string; agent: AgentRow | null }> {
  const agent = await agentOf(ctx, chat)
  return { model: await chooseModel(ctx, [named, chat.model, agent?.model], chat.workspace_id), agent }
}

async function agentOf(ctx: Context, { agent_id, workspace_id }: ChatRow): Promise<AgentRow | null> {
  if (agent_id === null) return null
  const agent = await agentBehind(ctx, agent_id, workspace_id)
  if (agent === null)
    refuse('invalid_state', {
      message: 'The agent of this chat was deleted or is in the trash. Restore it, or set another `agent_id`.',
      param: 'agent_id',
    })
  return agent
}

/**
 * Chooses the first model set by: message, chat, agent, account settings, `UK_DEFAULT_MODEL`, `sensibleModel`.
 * Throws if the caller can't use it or there is none.
 */
export async function chooseModel(
  ctx: Context<HasEndpoints>,
  named: readonly (string | null | undefined)[],
  workspaceId: Id,
): Promise<string> {
  const namedModel = named.find((name) => name !== null && name !== undefined)
  const model = namedModel ?? (await settingOf(ctx))
  if (model === null)
    return (
      (await serversChoice(ctx, workspaceId)) ??
      refuse('missing_parameter', {
        param: 'model',
        message: '`model` is required: no default model is set, and no model is available to you.',
      })
    )
  const { endpoints } = ctx.engine
  const offers = await endpoints.offers(ctx.principal, model)
  if (offers.length === 0)
    refuse('not_found', {
      param: 'model',
      message:
        noSuchModel(model, await visibleModels(endpoints, ctx.principal)) +
        (namedModel === undefined ? ' This is the default model in your settings. Change `default_model` there.' : ''),
    })
  return model
}

export const defaultModel = async (ctx: Context<HasEndpoints>, workspaceId: Id): Promise<string | null> =>
  (await settingOf(ctx)) ?? (await serversChoice(ctx, workspaceId))

export async function modelIn(ctx: Context<HasEndpoints>, chat: ChatRow): Promise<string | null> {
  const agent = await agentOf(ctx, chat)
  return chat.model ?? agent?.model ?? defaultModel(ctx, chat.workspace_id)
}

async function serversChoice(ctx: Context<HasEndpoints>, workspaceId: Id): Promise<string | null> {
  const { endpoints, config } = ctx.engine
  const rules = rulesFor(ctx.principal, workspaceId)
  const isAllowed = (offer: Offer): boolean => rules === undefined || brokenRule(offer, { rules }) === undefined
  // Set by the instance, not the caller, so fall back to another model if it is unavailable.
  const ofInstance = config.defaultModel
  const refuses = (offer: Offer): boolean => endpoints.refuses(offer)
  const offers = ofInstance === '' ? [] : (await endpoints.offers(ctx.principal, ofInstance)).filter(isAllowed)
  if (offers.some((offer) => !refuses(offer))) return ofInstance
  const models = (await endpoints.models(ctx.principal)).filter(isAllowed)
  if (offers.length > 0 && models.every(refuses)) return ofInstance
  return sensibleModel(models, refuses)
}

async function settingOf(ctx: Context): Promise<string | null> {
  const { settings } = await callersAccount(ctx)
  return (settings as { default_model?: string | null }).default_model ?? null
}

const PAID_BY = { byok: 0, free: 1, credits: 2 } as const

/**
 * Prefers the caller's own keys, then free models, then credits, newest first. Simulated models rank last, above only
 * models that refuse every call.
 */
export function sensibleModel(models: readonly ListedOffer[], refuses: (model: ListedOffer) => boolean): string | null {
  const textModels = models.filter(
    ({ modalities }) => modalities.output.includes('text') && modalities.input.includes('text'),
  )
  const realModels = textModels.filter(({ endpoint }) => endpoint.slug !== 'sim')
  const [best] = realModels.toSorted(
    (a, b) =>
      Number(refuses(a)) - Number(refuses(b)) ||
      PAID_BY[a.endpoint.billing] - PAID_BY[b.endpoint.billing] ||
      (b.releasedAt ?? '').localeCompare(a.releasedAt ?? '') ||
      a.slug.localeCompare(b.slug),
  )
  const simulated = textModels.find(({ slug }) => slug === 'sim/echo')
  return (best === undefined || refuses(best) ? (simulated ?? best) : best)?.slug ?? null
}
