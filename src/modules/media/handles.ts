import type { HasEndpoints, HasVoices } from '#modules/ai-gateway/service.ts'
import type { MediaGateway } from '#gateway/media/gateway.ts'

export interface HasMediaGateway extends HasVoices, HasEndpoints {
  mediaGateway: MediaGateway
}
