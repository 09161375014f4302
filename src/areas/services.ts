/** Every service: what app.ts serves. */
import type { Context } from '#engine/context.ts'
import type { Service } from '#kernel/implement.ts'
import { adminService, authService, meService, settingsService } from './accounts/service.ts'
import { agentService } from './agents/service.ts'
import { aiGatewayService, catalogueService } from './ai-gateway/service.ts'
import { apiKeyService } from './api-keys/service.ts'
import { auditService } from './audit/service.ts'
import { automationService } from './automations/service.ts'
import { chatService } from './chats/service.ts'
import { driveService } from './drive/service.ts'
import { inferenceService } from './inference/service.ts'
import { modelService } from './models/service.ts'
import { operationService } from './operations/service.ts'
import { notificationService } from './notifications/service.ts'
import { realtimeService } from './realtime/service.ts'
import { shareService, sharedWithMeService } from './shares/service.ts'
import { webhookService } from './webhooks/service.ts'
import { invitationService } from './workspaces/invitations/invitations.ts'
import { searchService } from './search/service.ts'
import { webService } from './web/service.ts'
import { memberService } from './workspaces/members.ts'
import { workspaceService } from './workspaces/service.ts'

export const services: readonly Service<Context>[] = [
  authService,
  meService,
  settingsService,
  adminService,
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
  driveService,
  inferenceService,
  modelService,
  notificationService,
  webhookService,
  realtimeService,
  catalogueService,
  aiGatewayService,
  searchService,
  webService,
]
