// A certified identity provider on loopback: whoever signs in as NAME is in the groups that the configuration names.
// It is given { port, client, secret, address, groups: { NAME: [GROUP] } } as an argument.
import Provider from "oidc-provider";

const { port, client, secret, address, groups } = JSON.parse(process.argv[2]);
const provider = new Provider(`http://localhost:${port}`, {
  clients: [
    {
      client_id: client,
      client_secret: secret,
      redirect_uris: [`${address}/sign-in/provider/callback`],
      post_logout_redirect_uris: [`${address}/sign-in`],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
  cookies: { keys: ["a key for a test"] },
  findAccount: (_, name) => ({
    accountId: name,
    claims: () => ({ sub: name, email: `${name}@example.org`, email_verified: true, groups: groups[name] ?? [] }),
  }),
  pkce: { required: () => true },
});
provider.listen(port, "127.0.0.1", () => console.log("listening"));
