import type { Context } from '#infra/context.ts'
import type { Service } from '#core/implement.ts'
import { identityService } from './accounts/identities/service.ts'
import { passkeyService } from './accounts/passkeys/service.ts'
import { type HasProvider } from './accounts/identities/provider.ts'
import type { HasDoors } from './accounts/recovery/doors.ts'
import { adminService, authService, meService, settingsService } from './accounts/service.ts'
import { waysInService } from './accounts/ways-in.ts'
import { type AgentHandles, agentService } from './agents/service.ts'
import { type GatewayHandles, type HasVoices, aiGatewayService, catalogueService } from './ai-gateway/service.ts'
import { apiKeyService } from './api-keys/service.ts'
import { auditService } from './audit/service.ts'
import { automationService } from './automations/service.ts'
import { type ChatHandles, chatService } from './chats/service.ts'
import type { HasLinks } from './computers/link/links.ts'
import type { HasCloud } from './computers/drivers/handle.ts'
import { cloudService, computerService, pairingService } from './computers/service.ts'
import { type HasThumbnails, driveService } from './drive/service.ts'
import { type InferenceHandles, inferenceService } from './inference/service.ts'
import type { MediaHandles } from './media/service.ts'
import { audioService, imageService, modelService, videoService } from './models/service.ts'
import { type HasOperationWatch, operationService } from './operations/service.ts'
import { type HasPushKeys, notificationService } from './notifications/service.ts'
import { type HasHub, realtimeService } from './realtime/service.ts'
import { shareService, sharedWithMeService } from './shares/service.ts'
import { webhookService } from './webhooks/service.ts'
import { type HasCheckUp, instanceService } from './instance/service.ts'
import { invitationService } from './workspaces/invitations/invitations.ts'
import { type SearchHandles, searchService } from './search/service.ts'
import { type HasRobots, webService } from './web/service.ts'
import { memberService } from './workspaces/members.ts'
import { workspaceService } from './workspaces/service.ts'

/** Handles that modules use of each other and of the gateway. app.ts adds them to the engine. */
export type Handles = AgentHandles &
  GatewayHandles &
  ChatHandles &
  InferenceHandles &
  MediaHandles &
  HasVoices &
  SearchHandles &
  HasHub &
  HasLinks &
  HasCloud &
  HasOperationWatch &
  HasProvider &
  HasDoors &
  HasCheckUp &
  HasPushKeys &
  HasRobots &
  HasThumbnails

export const services: readonly Service<Context<Handles>>[] = [
  authService,
  passkeyService,
  identityService,
  waysInService,
  meService,
  settingsService,
  adminService,
  instanceService,
  apiKeyService,
  operationService,
  workspaceService,
  memberService,
  invitationService,
  shareService,
  sharedWithMeService,
  auditService,
  agentService,
  chatService,
  automationService,
  computerService,
  pairingService,
  cloudService,
  driveService,
  inferenceService,
  modelService,
  imageService,
  videoService,
  audioService,
  notificationService,
  webhookService,
  realtimeService,
  catalogueService,
  aiGatewayService,
  searchService,
  webService,
]
