import './styles.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './shared/api.ts'
import { takeToken } from './shared/invitations/token.ts'
import { router } from './router/router.ts'
import { onLostPart } from './shell/states/version.ts'
import { Toasts } from './ui/toast/toast.tsx'
import { keepDrops } from './ui/dropped-files.ts'

takeToken()
keepDrops()

window.addEventListener('vite:preloadError', onLostPart)

createRoot(document.getElementById('app')!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
