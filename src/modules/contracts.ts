/**
 * All contracts by module name, for the CLI, daemon, app and docs. A new module is added here and in services.ts.
 * Contracts are loaded on demand, so a CLI command loads only its own.
 */
import type { Area } from '#core/contract.ts'

const accounts = () => import('./accounts/contract.ts')
const computers = () => import('./computers/contract.ts')
const workspaces = () => import('./workspaces/contract.ts')

export const contracts = {
  auth: async () => (await accounts()).auth,
  passkeys: async () => (await import('./accounts/contract-passkeys.ts')).passkeys,
  identities: async () => (await import('./accounts/contract-identities.ts')).identities,
  ways_in: async () => (await import('./accounts/contract-ways.ts')).waysIn,
  me: async () => (await accounts()).me,
  settings: async () => (await accounts()).settings,
  admin: async () => (await accounts()).admin,
  instance: async () => (await import('./instance/contract.ts')).instance,
  api_keys: async () => (await import('./api-keys/contract.ts')).apiKeys,
  operations: async () => (await import('./operations/contract.ts')).operations,
  workspaces: async () => (await workspaces()).workspaces,
  members: async () => (await workspaces()).members,
  invitations: async () => (await import('./workspaces/contract-invitations.ts')).invitations,
  shares: async () => (await import('./shares/contract.ts')).shares,
  shared_with_me: async () => (await import('./shares/contract.ts')).sharedWithMe,
  audit: async () => (await import('./audit/contract.ts')).audit,
  agents: async () => (await import('./agents/contract.ts')).agents,
  chats: async () => (await import('./chats/contract.ts')).chats,
  automations: async () => (await import('./automations/contract.ts')).automations,
  computers: async () => (await computers()).computers,
  computer_pairings: async () => (await computers()).computerPairings,
  cloud_computers: async () => (await import('./computers/contract-cloud.ts')).cloudComputers,
  drive: async () => (await import('./drive/contract.ts')).drive,
  inference: async () => (await import('./inference/contract.ts')).inference,
  models: async () => (await import('./models/contract.ts')).models,
  images: async () => (await import('./models/contract-media.ts')).images,
  videos: async () => (await import('./models/contract-media.ts')).videos,
  audio: async () => (await import('./models/contract-media.ts')).audio,
  search: async () => (await import('./search/contract.ts')).search,
  web: async () => (await import('./web/contract.ts')).web,
  notifications: async () => (await import('./notifications/contract.ts')).notifications,
  webhooks: async () => (await import('./webhooks/contract.ts')).webhooks,
  realtime: async () => (await import('./realtime/contract.ts')).realtime,
  catalogues: async () => (await import('./ai-gateway/contract-catalogues.ts')).catalogues,
  ai_gateway: async () => (await import('./ai-gateway/contract.ts')).aiGateway,
} as const

export type Contracts = typeof contracts

export const loadContracts = (from: Record<string, () => Promise<Area>> = contracts): Promise<Area[]> =>
  Promise.all(Object.values(from).map((load) => load()))
