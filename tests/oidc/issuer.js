// A real OpenID Connect issuer on this machine, for the tests.
//
// It gives tokens to one client, rotates its keys when it is told to, and counts who asks for them.
// What a test tells it stands under /test/; everything else is the issuer itself.

import { createServer } from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import Provider from 'oidc-provider';

const AUDIENCE = 'fleet';
const SCOPES = 'access:read access:write access:verify admin';

const server = createServer((request, response) => answer(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

let keys = [];
let provider;
let isDown = false;
const asked = { keys: 0, document: 0 };
rotate('ES256', false);
console.log(`issuer ${issuer}`);

// Nobody leaves it behind: when the test is gone, so is its end of this pipe.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

/** Makes a new key the one that signs; the older ones stay in the set, or don't. */
function rotate(algorithm, keepsOlder) {
  const kinds = {
    ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    EdDSA: () => generateKeyPairSync('ed25519'),
  };
  const { privateKey } = kinds[algorithm]();
  const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: algorithm, use: 'sig' };
  keys = keepsOlder ? [key, ...keys] : [key];
  provider = new Provider(issuer, {
    jwks: { keys },
    clients: [{
      client_id: 'robot',
      client_secret: 'secret-of-the-robot',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      id_token_signed_response_alg: algorithm,
    }],
    scopes: SCOPES.split(' '),
    extraTokenClaims: () => ({ fleet: { tenants: ['acme'] } }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:fleet',
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: SCOPES,
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
          jwt: { sign: { alg: algorithm } },
        }),
      },
    },
    enabledJWA: { idTokenSigningAlgValues: [algorithm] },
  });
}

function answer(request, response) {
  const url = new URL(request.url, issuer);
  const say = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  switch (url.pathname) {
    case '/test/rotate':
      rotate(url.searchParams.get('algorithm') ?? 'ES256', url.searchParams.has('keep'));
      return say(200, {});
    case '/test/down':
      isDown = url.searchParams.get('is') === 'true';
      return say(200, {});
    case '/test/asked':
      return say(200, asked);
    case '/.well-known/openid-configuration':
      asked.document += 1;
      break;
    case '/jwks':
      asked.keys += 1;
      break;
  }
  if (isDown && url.pathname !== '/token') return say(503, { error: 'down' });
  return provider.callback()(request, response);
}
